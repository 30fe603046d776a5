//! Chromium driven over its DevTools protocol: pages are opened, keys pressed and the mouse moved
//! as a person would.
//!
//! The protocol goes through a pair of pipes, messages of JSON with a zero byte after each, so
//! nothing is needed but Chromium itself.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A headless browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    profile: PathBuf,
    session: Option<String>,
    last: u64,
    complaints: Vec<String>,
}

impl Browser {
    /// Starts the Chromium that `ALLWAYS_TEST_CHROMIUM` names, with an empty profile at `profile`;
    /// `None` without the variable.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start(profile: &Path) -> Option<Self> {
        let Some(chromium) = std::env::var_os("ALLWAYS_TEST_CHROMIUM") else {
            eprintln!("not tested: ALLWAYS_TEST_CHROMIUM does not name a Chromium");
            return None;
        };
        let _ = std::fs::remove_dir_all(profile);
        std::fs::create_dir_all(profile).expect("the profile can be made");
        // Chromium talks over the file descriptors 3 and 4, which the shell makes of 0 and 1.
        let mut child = Command::new("sh")
            .args(["-c", "exec 3<&0 4>&1 </dev/null >/dev/null 2>&1; exec \"$0\" \"$@\""])
            .arg(chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--disable-dev-shm-usage"])
            .args(["--window-size=1440,900", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let to = child.stdin.take().expect("a pipe");
        let mut pipe = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while pipe.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            profile: profile.to_owned(),
            session: None,
            last: 0,
            complaints: Vec::new(),
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", target);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method of the protocol.
    ///
    /// # Panics
    ///
    /// If the browser refuses, or does not answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.receive();
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The next message; keeps what the page complains about.
    fn receive(&mut self) -> Value {
        let message = self.from.recv_timeout(PATIENCE).expect("the browser answers in time");
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Log.entryAdded") => {
                self.complaints.push(parameters.to_string());
            }
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters.to_string()),
            // Something tried to be more than text.
            Some("Page.javascriptDialogOpening") => self.complaints.push(parameters.to_string()),
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("file:") {
                    self.complaints.push(format!("it asks for {url}"));
                }
            }
            _ => {}
        }
        message
    }

    /// What the page has complained about: exceptions, anything on the console, requests.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever was on its way is there after an answer.
        self.eval("0");
        std::mem::take(&mut self.complaints)
    }

    /// Opens a file and waits until it is loaded.
    ///
    /// # Panics
    ///
    /// If it does not load.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({ "url": url }));
        let ready = "document.readyState === 'complete' && location.protocol === 'file:'";
        self.wait(ready);
    }

    /// Waits until an expression of JavaScript is true.
    ///
    /// # Panics
    ///
    /// If it does not become true.
    pub fn wait(&mut self, expression: &str) {
        let begin = Instant::now();
        while self.eval(expression) != json!(true) {
            assert!(begin.elapsed() < PATIENCE, "never true: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of an expression of JavaScript.
    ///
    /// # Panics
    ///
    /// If it throws.
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The text of the first element that a selector finds.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({}).innerText", json!(selector)));
        text.as_str().expect("it has text").to_owned()
    }

    /// Presses a key and lets it go.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Home" => 36,
            "End" => 35,
            "Tab" => 9,
            "Enter" => 13,
            " " => 32,
            key => key.to_ascii_uppercase().bytes().next().unwrap_or_default(),
        };
        let text = match key {
            "Enter" => "\r",
            key if key.len() == 1 => key,
            _ => "",
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// The middle of the first element that a selector finds, scrolled into view.
    fn middle(&mut self, selector: &str) -> (f64, f64) {
        let place = self.eval(&format!(
            "(() => {{ const e = document.querySelector({}); \
             e.scrollIntoView({{ block: 'nearest', inline: 'nearest' }}); \
             const r = e.getBoundingClientRect(); \
             return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        ));
        (place[0].as_f64().expect("a place"), place[1].as_f64().expect("a place"))
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Moves the mouse to the first element that a selector finds.
    pub fn point(&mut self, selector: &str) {
        // From somewhere else, and when nothing scrolls any more.
        self.mouse("mouseMoved", (1.0, 1.0));
        self.middle(selector);
        std::thread::sleep(Duration::from_millis(100));
        let place = self.middle(selector);
        self.mouse("mouseMoved", place);
    }

    /// Clicks on the first element that a selector finds.
    pub fn click(&mut self, selector: &str) {
        let place = self.middle(selector);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.mouse(kind, place);
        }
    }

    /// Lets the page believe that its reader prefers `dark` or `light`.
    pub fn prefer(&mut self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
