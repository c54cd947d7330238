// A small chat: conversations, history, sending, streamed answers, approvals. No framework.
import { Api, type Interaction, type Message, type RunEvent, type Talk } from "./api";
import { Live } from "./live";

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const KEY = "strongroom.token";

function textOf(parts: unknown): string {
  const list = Array.isArray(parts) ? parts : [];
  return list.map((part) => (part?.type === "text" ? part.text : `[${part?.type}]`)).join("\n");
}

function bubble(role: string, text: string): HTMLLIElement {
  const item = document.createElement("li");
  item.className = role;
  item.textContent = text; // never as HTML
  return item;
}

function toTheEnd(): void {
  const scroll = element("scroll");
  scroll.scrollTop = scroll.scrollHeight;
}

/** One open conversation. */
class TalkView {
  private oldest: Message | undefined;
  private newest = 0;
  private run: string | null = null;
  private sequence = 0;
  private draft: HTMLLIElement | undefined;
  private asked = "";
  private readonly live: Live;
  private readonly list = element<HTMLOListElement>("messages");

  constructor(private readonly api: Api, private readonly talk: string, tell: Live["tell"]) {
    this.list.replaceChildren();
    element("approvals").replaceChildren();
    this.live = new Live(api, ["conversation", api.me.tenant, talk], () => this.look(), tell);
  }

  private async look(): Promise<void> {
    if (!this.oldest) this.show(await this.api.latest(this.talk));
    for (;;) {
      const page = await this.api.after(this.talk, this.newest);
      this.show(page);
      if (page.length < 100) break;
    }
    await this.stream();
    this.ask(await this.api.pending(this.talk));
  }

  private show(page: Message[]): void {
    const fresh = page.filter((message) => message.position > this.newest);
    if (fresh.length === 0) return;
    this.oldest ??= fresh[0]!;
    this.newest = fresh.at(-1)!.position;
    for (const message of fresh) {
      const item = bubble(message.role, textOf(message.parts));
      this.list.insertBefore(item, this.draft ?? null);
    }
    this.offerEarlier();
    toTheEnd();
  }

  async earlier(): Promise<void> {
    if (!this.oldest) return;
    const page = await this.api.before(this.talk, this.oldest.cursor);
    this.oldest = page[0] ?? this.oldest;
    this.list.prepend(...page.map((message) => bubble(message.role, textOf(message.parts))));
    this.offerEarlier();
  }

  private offerEarlier(): void {
    element("earlier").hidden = !this.oldest || this.oldest.position <= 1;
  }

  /** What the run under way has streamed; when it has ended, its message is in the history instead. */
  private async stream(): Promise<void> {
    const run = await this.api.activeRun(this.talk);
    if (run !== this.run) {
      this.draft?.remove();
      this.draft = undefined;
      this.run = run;
      this.sequence = 0;
      // It may have ended between the two looks: then its message is there now.
      if (!run) this.show(await this.api.after(this.talk, this.newest));
    }
    if (!run) return;
    for (const event of await this.api.events(run, this.sequence)) this.hear(event);
  }

  private hear(event: RunEvent): void {
    this.sequence = event.sequence;
    if (event.kind !== "text-delta") return;
    this.draft ??= this.list.appendChild(bubble("assistant draft", ""));
    const data = event.data as { text?: string } | null;
    this.draft.textContent += data?.text ?? "";
    toTheEnd();
  }

  private ask(pending: Interaction[]): void {
    const approvals = pending.filter((interaction) => interaction.kind === "approval");
    const asked = approvals.map((approval) => approval.id).join("\n");
    if (asked === this.asked) return;
    this.asked = asked;
    element("approvals").replaceChildren(...approvals.map((approval) => this.card(approval)));
    toTheEnd();
  }

  private card(approval: Interaction): HTMLElement {
    const card = document.createElement("div");
    card.className = "card";
    const title = document.createElement("strong");
    title.textContent = approval.prompt || `May I call ${approval.tool_name}?`;
    const input = document.createElement("pre");
    input.textContent = `${approval.tool_name} ${JSON.stringify(approval.input, null, 2)}`;
    card.append(title, input);
    for (const [label, decision] of [["Allow once", "allow-once"], ["Deny", "deny"]] as const) {
      const button = document.createElement("button");
      button.textContent = label;
      button.onclick = () =>
        void this.api.decide(approval.id, decision).then(() => this.live.want(), report);
      card.append(button, " ");
    }
    return card;
  }

  async send(text: string): Promise<void> {
    await this.api.send(this.talk, crypto.randomUUID(), text);
    await this.live.want();
  }

  close(): void {
    this.live.close();
  }
}

function report(error: unknown): void {
  element("problem").textContent = error instanceof Error ? error.message : String(error);
}

class Page {
  private talks: Talk[] = [];
  private open: TalkView | undefined;

  constructor(private readonly api: Api) {
    element("app").hidden = false;
    element("who").textContent = `${api.me.principal} of ${api.me.tenant}`;
    new Live(api, ["principal", api.me.tenant, api.me.principal], () => this.refresh(), () => undefined);
    new Live(api, ["tenant", api.me.tenant], () => this.refresh(), () => undefined);
    element("earlier").onclick = () => void this.open?.earlier().catch(report);
    element("more").onclick = () => void this.more().catch(report);
    element("sign-out").onclick = () => {
      sessionStorage.removeItem(KEY);
      location.hash = "";
      location.reload();
    };
    element<HTMLFormElement>("send").onsubmit = (event) => {
      event.preventDefault();
      const input = element<HTMLInputElement>("text");
      const text = input.value.trim();
      if (!text || !this.open) return;
      input.value = "";
      this.open.send(text).catch((error: unknown) => {
        input.value ||= text; // nothing that somebody wrote is lost
        report(error);
      });
    };
    if (location.hash) this.choose(decodeURIComponent(location.hash.slice(1)));
  }

  private async refresh(): Promise<void> {
    const first = await this.api.talks();
    const known = new Set(first.map((talk) => talk.id));
    this.talks = [...first, ...this.talks.slice(first.length).filter((talk) => !known.has(talk.id))];
    this.draw();
  }

  private async more(): Promise<void> {
    this.talks.push(...(await this.api.talks(this.talks.at(-1)?.cursor)));
    this.draw();
  }

  private draw(): void {
    const chosen = decodeURIComponent(location.hash.slice(1));
    element("talks").replaceChildren(
      ...this.talks.map((talk) => {
        const item = document.createElement("li");
        const button = item.appendChild(document.createElement("button"));
        button.textContent = talk.title ?? "Untitled";
        button.setAttribute("aria-current", String(talk.id === chosen));
        button.onclick = () => this.choose(talk.id);
        return item;
      }),
    );
    element("more").hidden = !this.talks.at(-1)?.has_more;
  }

  private choose(talk: string): void {
    location.hash = encodeURIComponent(talk);
    this.open?.close();
    this.open = new TalkView(this.api, talk, (isJoined, problem) => {
      const state = element("state");
      state.textContent = isJoined ? "live" : "not live: looking every two seconds";
      state.dataset["live"] = String(isJoined);
      element("problem").textContent = problem ?? "";
    });
    this.draw();
  }
}

async function start(): Promise<void> {
  const config = (await (await fetch("config.json")).json()) as { url: string; key: string };
  const token = sessionStorage.getItem(KEY);
  if (token) {
    new Page(new Api(config.url, config.key, token));
    return;
  }
  const form = element<HTMLFormElement>("sign-in");
  form.hidden = false;
  form.style.display = "flex";
  form.onsubmit = (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, element<HTMLInputElement>("token").value.trim());
    location.reload();
  };
}

void start();
