// Drives examples/chat-web in Chromium; exits with an error when something is not as it must be.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const { url, chromium: executablePath, tokens, screenshot } = JSON.parse(process.env.STRONGROOM_WEB);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function control(name, ...args) {
  const answer = await fetch(`${url}/control/${name}`, {
    method: "POST",
    body: JSON.stringify(args),
    headers: { "content-type": "application/json" },
  });
  assert.equal(answer.status, 200, `${name}: ${answer.status}`);
  return answer.json();
}

async function open(tenant) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 720 } });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on("pageerror", (error) => { throw error; });
  await page.goto(url);
  await page.fill("#token", tokens[tenant]);
  await page.click("#sign-in button");
  await page.click(`#talks >> text=${tenant} parcels`);
  await page.waitForSelector("#state[data-live=true]");
  return page;
}

const texts = (page) => page.locator("#messages li").allTextContents();
const shows = (page, text) => page.getByText(text, { exact: true }).waitFor();

try {
  const acme = await open("acme");
  const globex = await open("globex");

  // Each lists its own conversations, and not those of somebody else.
  assert.deepEqual(await acme.locator("#talks button").allTextContents(), ["acme parcels"]);
  assert.deepEqual(await globex.locator("#talks button").allTextContents(), ["globex parcels"]);

  // History, back to the first message, each once and in order.
  for (let count = 20; count < 45; ) {
    await acme.click("#earlier");
    await acme.waitForFunction((n) => document.querySelectorAll("#messages li").length > n, count);
    count = (await texts(acme)).length;
  }
  const expected = Array.from({ length: 45 }, (_, n) => `acme message ${n + 1}`);
  assert.deepEqual(await texts(acme), expected);
  assert.equal(await acme.locator("#earlier").isVisible(), false);

  // Sending; what the user writes is text, never markup.
  await acme.fill("#text", "Where is <b>parcel 7</b>?");
  await acme.click("#send button");
  await shows(acme, "Where is <b>parcel 7</b>?");

  // An answer streams, live.
  await control("start", "acme", "talk", "run-1");
  await control("delta", "acme", "run-1", "e1", "Your parcel ");
  await acme.waitForFunction(() => document.querySelector(".draft")?.textContent === "Your parcel ");
  await control("delta", "acme", "run-1", "e2", "was lost.");
  await acme.waitForFunction(() => document.querySelector(".draft")?.textContent === "Your parcel was lost.");

  // An approval is shown, and decided.
  await control("approval", "acme", "run-1", "refund-1");
  await shows(acme, "May I refund parcel 7?");
  await acme.screenshot({ path: screenshot });
  assert.equal(await control("decision", "acme", "refund-1"), null);
  await acme.getByRole("button", { name: "Allow once" }).click();
  await acme.waitForFunction(() => !document.querySelector(".card"));
  assert.equal(await control("decision", "acme", "refund-1"), "allow-once");
  await control("finish", "acme", "run-1", "answer-1", "Your parcel was lost. I have refunded it.");
  await shows(acme, "Your parcel was lost. I have refunded it.");
  await acme.waitForFunction(() => !document.querySelector(".draft"));

  // Both at once, and sockets that drop: nothing is lost, nothing is doubled.
  for (let round = 0; round < 3; round += 1) {
    await control("drop_sockets");
    await control("say", "acme", "talk", `d-${round}`, `while away ${round}`);
    await shows(acme, `while away ${round}`);
  }
  await acme.waitForSelector("#state[data-live=true]");
  await control("say", "acme", "talk", "last", "and live again");
  await shows(acme, "and live again");

  // A new conversation shows up by itself.
  const seen = await texts(acme);
  assert.deepEqual(seen, [
    ...expected,
    "Where is <b>parcel 7</b>?",
    "Your parcel was lost. I have refunded it.",
    "while away 0", "while away 1", "while away 2",
    "and live again",
  ]);

  // Nothing has crossed: the other tenant's page is as it was.
  const others = await texts(globex);
  assert.equal(others.length, 20);
  assert.ok(others.every((text) => text.startsWith("globex message ")), others.join());
  assert.ok(!(await globex.content()).includes("acme"));

  // A reload shows the same.
  await acme.reload();
  await shows(acme, "and live again");
  while (await acme.locator("#earlier").isVisible()) {
    const count = (await texts(acme)).length;
    await acme.click("#earlier");
    await acme.waitForFunction((n) => document.querySelectorAll("#messages li").length > n, count);
  }
  assert.deepEqual(await texts(acme), seen);
  assert.equal(await acme.locator("#problem").textContent(), "");
} finally {
  await browser.close();
}
