//! Figures as lines on standard output and, after a full run, as a page: `RESULTS.md`, `TOWER.md`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::contenders;
use crate::measure::Values;
use crate::workload;

struct Figure {
    workload: String,
    contender: &'static str,
    values: Values,
    unit: &'static str,
}

/// What a page says beside the figures.
pub struct Page {
    /// Its name in `bench`.
    pub file: &'static str,
    pub title: &'static str,
    /// What writes it.
    pub command: &'static str,
    /// How its ratios are to be read.
    pub ratio: &'static str,
    /// Names, and what is done.
    pub workloads: &'static [(&'static str, &'static str)],
    /// Names, and how each is used.
    pub contenders: Vec<(&'static str, &'static str)>,
}

/// Everything that was found so far.
pub struct Report {
    figures: Vec<Figure>,
    notes: Vec<String>,
    /// As it was when the run began.
    surroundings: Vec<(&'static str, String)>,
}

impl Report {
    pub fn begin() -> Self {
        Self { figures: Vec::new(), notes: Vec::new(), surroundings: surroundings() }
    }

    pub fn figure(
        &mut self,
        workload: &str,
        contender: &'static str,
        unit: &'static str,
        values: Values,
    ) {
        let median = number(values.median());
        println!("figure {workload} {contender} {median} {unit}");
        let (least, most) = (number(values.least()), number(values.most()));
        println!("spread {workload} {contender} {least}..{most} {unit}");
        self.figures.push(Figure { workload: workload.to_owned(), contender, values, unit });
    }

    /// Prints how brimful's median stands to each other one of the workload.
    pub fn ratios(&self, workload: &str) {
        for (figure, ratio) in self.of(workload) {
            if let Some(ratio) = ratio {
                println!("ratio {workload} brimful/{} {ratio:.2}", figure.contender);
            }
        }
    }

    /// A line that begins with `absent`, `inexact` or `note`.
    pub fn note(&mut self, line: String) {
        println!("{line}");
        self.notes.push(line);
    }

    /// Figures of a workload; beside those of others the ratio of brimful's to theirs.
    fn of(&self, workload: &str) -> impl Iterator<Item = (&Figure, Option<f64>)> {
        let figures = self.figures.iter().filter(move |figure| figure.workload == workload);
        let ours = figures.clone().find(|figure| figure.contender == "brimful");
        let ours = ours.map(|figure| figure.values.median());
        figures.map(move |figure| {
            let theirs = figure.values.median();
            let ratio = ours.filter(|_| figure.contender != "brimful" && theirs > 0.0);
            (figure, ratio.map(|ours| ours / theirs))
        })
    }

    /// Whether brimful allocated in a call for a live key.
    pub fn allocates(&self) -> bool {
        let mut of_calls = self.of(workload::ALLOCATIONS);
        of_calls.any(|(figure, _)| figure.values.most() > 0.0)
    }

    /// Writes a page, and says where.
    pub fn write(&self, page: &Page) -> io::Result<PathBuf> {
        let path = bench().join(page.file);
        fs::write(&path, self.markdown(page).expect("writing to a string"))?;
        Ok(path)
    }

    fn markdown(&self, page: &Page) -> Result<String, std::fmt::Error> {
        let Page { title, command, ratio, .. } = page;
        let mut out = format!(
            "# {title}\n\nWritten by a full run of the measurements, and by nothing else:\n\n"
        );
        out += &format!("```sh\n{command}\n```\n\n");
        out += "| | |\n|---|---|\n";
        for (name, value) in &self.surroundings {
            writeln!(out, "| {name} | {value} |")?;
        }
        writeln!(out, "| load after it | {} |", load())?;
        writeln!(out, "\nMedians of the rounds, and the least and most of them. {ratio}")?;
        let mut workloads: Vec<&str> = Vec::new();
        for figure in &self.figures {
            if !workloads.contains(&figure.workload.as_str()) {
                workloads.push(&figure.workload);
            }
        }
        for workload in workloads {
            writeln!(
                out,
                "\n## {workload}\n\n| contender | median | min..max | unit | brimful/it |"
            )?;
            out += "|---|---|---|---|---|\n";
            for (figure, ratio) in self.of(workload) {
                let Figure { contender, values, unit, .. } = figure;
                let (median, least) = (number(values.median()), number(values.least()));
                let most = number(values.most());
                let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
                writeln!(out, "| {contender} | {median} | {least}..{most} | {unit} | {ratio} |")?;
            }
        }
        out += "\n## Workloads\n\n| workload | what is done |\n|---|---|\n";
        for (name, what) in page.workloads {
            writeln!(out, "| {name} | {what} |")?;
        }
        out += "\n## Contenders\n\n| contender | how it is used |\n|---|---|\n";
        for (name, note) in &page.contenders {
            writeln!(out, "| {name} | {note} |")?;
        }
        out += "\n## Notes\n\n";
        for note in &self.notes {
            writeln!(out, "* {note}")?;
        }
        Ok(out)
    }
}

/// What the figures depend on besides the code.
fn surroundings() -> Vec<(&'static str, String)> {
    let bench = bench().display().to_string();
    let git = |args: &[&str]| said(Command::new("git").args(["-C", &bench]).args(args));
    let changed = git(&["status", "--porcelain", "--", ":/", ":!RESULTS.md", ":!TOWER.md"]);
    let dirty = if changed.is_empty() { "" } else { "-dirty" };
    let lock = said(Command::new("git").args(["hash-object", &format!("{bench}/Cargo.lock")]));
    let processor = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or_else(String::new, |(_, model)| model.to_owned());
    let threads = std::thread::available_parallelism().map_or(0, |threads| threads.get());
    let pages = read("/sys/kernel/mm/transparent_hugepage/enabled");
    vec![
        ("commit", git(&["rev-parse", "HEAD"]) + dirty),
        ("`bench/Cargo.lock` (`git hash-object`)", lock),
        ("compiler", said(Command::new("rustc").arg("--version"))),
        ("processor", format!("{processor}, {threads} threads")),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("transparent huge pages", pages),
        ("date (UTC)", said(Command::new("date").args(["-u", "+%Y-%m-%d"]))),
        ("load before the run (1, 5, 15 min)", load()),
    ]
}

/// The lines on who is not there.
pub fn note_absent(report: &mut Report) {
    for (name, reason) in contenders::absent() {
        report.note(format!("absent {name} {reason}"));
    }
}

/// The directory of these measurements.
pub fn bench() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One decimal: enough for nanoseconds, bytes and milliseconds.
fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// What a command prints; nothing when it fails.
fn said(command: &mut Command) -> String {
    let output = command.output().ok().filter(|output| output.status.success());
    output.map_or_else(String::new, |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    })
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn load() -> String {
    read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")
}
