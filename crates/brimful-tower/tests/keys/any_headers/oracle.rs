//! The slower reading: all entries of the header are collected from the left, then the client is chosen among them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

#[derive(Clone, Copy)]
pub(crate) enum Syntax {
    XForwardedFor,
    Forwarded,
}

/// All entries of all lines in their order; `None` for what cannot be read, and for all that stands left of an
/// element of `Forwarded` that is not well-formed.
pub(crate) fn entries<'a>(
    syntax: Syntax,
    lines: impl Iterator<Item = &'a [u8]>,
) -> Vec<Option<IpAddr>> {
    let mut entries = Vec::new();
    for line in lines {
        // Each byte is a character, so that places in bytes and characters are the same.
        let line: String = line.iter().copied().map(char::from).collect();
        let texts = match syntax {
            Syntax::XForwardedFor => line.split(',').map(|text| Some(text.to_owned())).collect(),
            Syntax::Forwarded => elements(&line),
        };
        for text in texts {
            match text {
                Some(text) if text.trim_matches([' ', '\t']).is_empty() => {}
                Some(text) => entries.push(match syntax {
                    Syntax::XForwardedFor => address(text.trim_matches([' ', '\t'])),
                    Syntax::Forwarded => pairs(&text).as_deref().and_then(is_for),
                }),
                None => entries.push(None),
            }
        }
    }
    entries
}

/// The address behind the last place where the chain of trust is broken.
pub(crate) fn client(peer: IpAddr, entries: &[Option<IpAddr>]) -> IpAddr {
    let mut chain: Vec<Option<IpAddr>> = entries.to_vec();
    chain.push(Some(peer.to_canonical()));
    // The longest end of the chain that can all be read, and all but its first is trusted.
    let holds = |start: &usize| {
        let end = &chain[*start..];
        end.iter().all(Option::is_some) && end[1..].iter().flatten().all(|hop| is_trusted(*hop))
    };
    let start = (0..chain.len()).find(holds).expect("the peer alone");
    chain[start].expect("it can be read")
}

/// By hand, beside the networks that the reading under test is given.
fn is_trusted(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[0] == 10 || v4 == Ipv4Addr::new(1, 2, 3, 4),
        IpAddr::V6(v6) => v6.segments()[0] == 0x2001 || v6 == Ipv6Addr::LOCALHOST,
    }
}

/// The elements of a line. Every place where the last one could begin is tried.
fn elements(line: &str) -> Vec<Option<String>> {
    let mut found = Vec::new();
    let mut left = Some(line);
    while let Some(text) = left {
        let commas = text.match_indices(',').map(|(comma, _)| comma);
        let mut starts: Vec<Option<usize>> = vec![None];
        starts.extend(commas.map(Some));
        let elements = starts.iter().filter_map(|comma| {
            let element = &text[comma.map_or(0, |comma| comma + 1)..];
            pairs(element).map(|_| (*comma, element))
        });
        let elements: Vec<_> = elements.collect();
        assert!(elements.len() < 2, "{text:?} ends in two elements: {elements:?}");
        let Some((comma, element)) = elements.first() else {
            found.push(None);
            break;
        };
        found.push(Some((*element).to_owned()));
        left = comma.map(|comma| &text[..comma]);
    }
    found.reverse();
    found
}

/// The pairs of a well-formed element, values without quotation marks and escapes.
fn pairs(element: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut characters = element.chars().peekable();
    let is_space = |c: &char| *c == ' ' || *c == '\t';
    loop {
        while characters.next_if(is_space).is_some() {}
        let mut name = String::new();
        while let Some(c) = characters.next_if(|c| is_token(*c)) {
            name.push(c);
        }
        if !name.is_empty() {
            characters.next_if_eq(&'=')?;
            let mut value = String::new();
            if characters.next_if_eq(&'"').is_some() {
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => value.push(characters.next()?),
                        other => value.push(other),
                    }
                }
            } else {
                while let Some(c) = characters.next_if(|c| !"\"\\,; \t".contains(*c)) {
                    value.push(c);
                }
                if value.is_empty() {
                    return None;
                }
            }
            pairs.push((name.to_ascii_lowercase(), value));
            while characters.next_if(is_space).is_some() {}
        }
        match characters.next() {
            None => return Some(pairs),
            Some(';') => {}
            Some(_) => return None,
        }
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(c)
}

fn is_for(pairs: &[(String, String)]) -> Option<IpAddr> {
    let mut values = pairs.iter().filter(|(name, _)| name == "for").map(|(_, value)| value);
    let value = values.next()?;
    if values.next().is_some() { None } else { address(value) }
}

/// The address of an entry of at most 64 bytes, by cutting its port off at the last colon where it has one.
fn address(text: &str) -> Option<IpAddr> {
    if text.len() > 64 {
        return None;
    }
    let (address, port) = match text.rsplit_once(':') {
        // The last colon is inside: of an address in brackets or bare.
        Some((before, after))
            if after.ends_with(']') || before.contains(':') && !before.ends_with(']') =>
        {
            (text, None)
        }
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    };
    // A bare address has no port.
    if let Some(port) = port
        && !is_port(port)
    {
        return None;
    }
    let parsed = match address.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')) {
        Some(inside) => IpAddr::V6(inside.parse().ok()?),
        None if port.is_some() => {
            IpAddr::V4(*format!("{address}:1").parse::<SocketAddrV4>().ok()?.ip())
        }
        None => address.parse().ok()?,
    };
    Some(parsed.to_canonical())
}

fn is_port(port: &str) -> bool {
    let mut characters = port.chars();
    match characters.next() {
        Some('_') if port.len() > 1 => {
            characters.all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        }
        Some(_) => port.len() <= 5 && port.chars().all(|c| c.is_ascii_digit()),
        None => false,
    }
}
