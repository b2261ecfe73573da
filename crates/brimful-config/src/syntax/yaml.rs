//! Reads YAML from the events of its parser, without recursion.

mod scalar;

use std::collections::HashMap;
use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::{Flaw, Tree};
use crate::node::{Entry, Node, Value};

/// How deep lists and tables may be nested. Nothing that has a meaning is deeper than 6.
const DEEPEST: usize = 32;
/// How many values all that have anchors together may have, each counted once for each anchor that it
/// stands behind.
const MOST_ANCHORED: usize = 1_000_000;
/// How many values all aliases together may stand for.
const MOST_COPIED: usize = 100_000;
/// How many bytes of text are counted as one more value, so that long texts are bounded too.
const BYTES_OF_A_VALUE: usize = 160;

/// Reads a stream of YAML that holds one document.
pub(super) fn read(text: &str) -> Result<Tree, Flaw> {
    let mut builder = Builder::default();
    let mut documents = 0_usize;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| flaw(text, &error))?;
        if matches!(event, Event::DocumentStart(..)) {
            documents = documents.saturating_add(1);
            if documents > 1 {
                let found = "a second document begins";
                return Err(Flaw::new(bytes(&span), found, "expected one document in a file"));
            }
        }
        builder.take(event, &span)?;
    }
    let empty = Node { span: 0..0, value: Value::Table(Vec::new()) };
    let mut root = builder.root.take().unwrap_or_else(|| empty.clone());
    if matches!(root.value, Value::Null) {
        root = empty;
    }
    Ok(Tree { root, flaws: builder.flaws })
}

/// A list or table that is not yet closed.
struct Open {
    span: Range<usize>,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Table { entries: Vec<Entry>, places: HashMap<String, Range<usize>>, name: Option<Name> },
}

/// The name of a field whose value comes next; without a text when it cannot be one.
struct Name {
    text: Option<String>,
    span: Range<usize>,
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    anchored: usize,
    copied: usize,
    flaws: Vec<Flaw>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Flaw> {
        let place = bytes(span);
        let tagged = event.tag().is_some();
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let value =
                    if plain { scalar::resolved(&text) } else { Value::Text(text.into_owned()) };
                // An empty value is written nowhere: what stands before it is pointed at.
                self.tag(tagged, span, &place);
                self.add(Node { span: place, value }, anchor)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.tag(tagged, span, &place);
                self.begin(place, anchor, Content::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, _) => {
                self.tag(tagged, span, &place);
                let (entries, places) = (Vec::new(), HashMap::new());
                self.begin(place, anchor, Content::Table { entries, places, name: None })?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&place)?,
            Event::Alias(anchor) => self.alias(anchor, &place)?,
            _ => {}
        }
        Ok(())
    }

    fn tag(&mut self, tagged: bool, span: &Span, place: &Range<usize>) {
        if tagged {
            let tag = span.tag_span().map_or_else(|| place.clone(), |tag| bytes(&tag));
            let expected = "leave it out; a number that is meant as text is written in quotes";
            self.flaws.push(Flaw::new(tag, "there is a tag", expected));
        }
    }

    fn begin(&mut self, span: Range<usize>, anchor: usize, content: Content) -> Result<(), Flaw> {
        if self.open.len() >= DEEPEST {
            let expected = format!("expected at most {DEEPEST} lists and tables in one another");
            return Err(Flaw::new(span, "this is nested too deep", expected));
        }
        self.open.push(Open { span, anchor, content });
        Ok(())
    }

    fn close(&mut self, end: &Range<usize>) -> Result<(), Flaw> {
        let Some(Open { span, anchor, content }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            Content::List(items) => Value::List(items),
            Content::Table { entries, .. } => Value::Table(entries),
        };
        // What is written in brackets ends with one; all else is pointed at where it begins.
        let span = if span.is_empty() { span } else { span.start..end.end.max(span.end) };
        self.add(Node { span, value }, anchor)
    }

    fn alias(&mut self, anchor: usize, place: &Range<usize>) -> Result<(), Flaw> {
        let Some((node, size)) = self.anchors.get(&anchor) else {
            let expected = "an alias stands for a value that was written out before";
            return Err(Flaw::new(place.clone(), "this alias stands in its own value", expected));
        };
        self.copied = self.copied.saturating_add(*size);
        if self.copied > MOST_COPIED {
            let found = format!("aliases stand for more than {MOST_COPIED} values");
            return Err(Flaw::new(place.clone(), found, "write out what they stand for"));
        }
        let node = node.clone();
        self.add_at(node, place.clone());
        Ok(())
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Flaw> {
        if anchor != 0 {
            let size = size_of(&node);
            self.anchored = self.anchored.saturating_add(size);
            if self.anchored > MOST_ANCHORED {
                let found = format!("anchors stand before more than {MOST_ANCHORED} values");
                return Err(Flaw::new(node.span, found, "leave out what no alias names"));
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        let place = node.span.clone();
        self.add_at(node, place);
        Ok(())
    }

    /// Puts a value where it belongs: into a list, as the name of a field, or as its value. As a name
    /// it is written at `place`.
    fn add_at(&mut self, node: Node, place: Range<usize>) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Table { name: name @ None, .. } => {
                *name = Some(name_of(node, place, &mut self.flaws));
            }
            Content::Table { entries, places, name } => {
                if let Some(Name { text: Some(text), span }) = name.take() {
                    if let Some(first) = places.get(&text) {
                        let found = format!("`{text}` is given twice");
                        let mut flaw = Flaw::new(span, found, "give each field of a table once");
                        flaw.first = Some(first.clone());
                        self.flaws.push(flaw);
                        return;
                    }
                    places.insert(text.clone(), span.clone());
                    entries.push(Entry { name: text, name_span: span, node });
                }
            }
        }
    }
}

fn name_of(node: Node, span: Range<usize>, flaws: &mut Vec<Flaw>) -> Name {
    match node.value {
        Value::Text(text) if text == "<<" => {
            let found = "`<<` would merge tables";
            flaws.push(Flaw::new(span.clone(), found, "write the fields out"));
            Name { text: None, span }
        }
        Value::Text(text) => Name { text: Some(text), span },
        other => {
            let found = format!("{} is the name of a field", other.described());
            flaws.push(Flaw::new(span.clone(), found, "expected text; write it in quotes"));
            Name { text: None, span }
        }
    }
}

/// How many values there are in one. It is at most [`DEEPEST`] deep, and deeper by aliases.
fn size_of(node: &Node) -> usize {
    let mut size = 0_usize;
    let mut rest = vec![node];
    while let Some(node) = rest.pop() {
        let text: usize = match &node.value {
            Value::List(items) => {
                rest.extend(items);
                0
            }
            Value::Table(entries) => {
                rest.extend(entries.iter().map(|entry| &entry.node));
                entries.iter().map(|entry| entry.name.len()).sum()
            }
            Value::Text(text) | Value::Float(text) | Value::Date(text) => text.len(),
            Value::Integer { digits, .. } => digits.len(),
            Value::Flag(_) | Value::Null => 0,
        };
        size = size.saturating_add(1).saturating_add(text / BYTES_OF_A_VALUE);
    }
    size
}

fn bytes(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or(0..0)
}

/// A fault of YAML, in the words of its parser.
fn flaw(text: &str, error: &ScanError) -> Flaw {
    let at = error.marker().byte_offset().unwrap_or(text.len());
    let found = error.info();
    let has = |part| found.contains(part);
    // What most often is behind it.
    let expected = if has("anchor") {
        "write a text that begins with `*` or `&` in quotes"
    } else if has("mapping values are not allowed") || has("',' or '}'") {
        "write a text that has `: ` in it in quotes"
    } else if has("tabs disallowed") || has("found a tab") {
        "indent by spaces"
    } else if has("recursion limit") {
        "expected at most 32 lists and tables in one another"
    } else {
        "expected YAML 1.2"
    };
    Flaw::new(at..at, found, expected)
}
