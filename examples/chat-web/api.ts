// The calls of this page: functions of the schema strongroom, as the signed-in user.
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import type { Database, Json } from "./database.types";

type Functions = Database["strongroom"]["Functions"];
export type Talk = Functions["list_conversations"]["Returns"][number];
export type Message = Functions["list_messages"]["Returns"][number];
export type RunEvent = Functions["list_run_events"]["Returns"][number];
export type Interaction = Functions["list_interactions"]["Returns"][number];

export interface Identity {
  tenant: string;
  principal: string;
}

/** Who the token says that we are. The database asks the token itself, not us. */
export function identityOf(token: string): Identity {
  const body = token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
  const bytes = Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
  const claims = JSON.parse(new TextDecoder().decode(bytes));
  return { tenant: claims.app_metadata.tenant_id, principal: claims.sub };
}

/** The name of a private topic, as the database spells it. */
export function topicOf(...names: string[]): string {
  const escaped = names.map((name) => name.replaceAll("%", "%25").replaceAll(":", "%3A"));
  return ["strongroom", ...escaped].join(":");
}

export class Api {
  readonly client: SupabaseClient<Database, "strongroom">;
  readonly me: Identity;

  constructor(url: string, key: string, token: string) {
    this.me = identityOf(token);
    this.client = createClient<Database, "strongroom">(url, key, {
      db: { schema: "strongroom" },
      accessToken: async () => token,
    });
  }

  async talks(after?: string): Promise<Talk[]> {
    return this.rows(
      await this.client.rpc("list_conversations", {
        p_tenant_id: this.me.tenant,
        p_limit: 30,
        ...(after ? { p_after: after } : {}),
      }),
    );
  }

  async latest(talk: string): Promise<Message[]> {
    return this.rows(
      await this.client.rpc("list_messages", { ...this.at(talk), p_limit: 20, p_latest: true }),
    );
  }

  async before(talk: string, cursor: string): Promise<Message[]> {
    return this.rows(
      await this.client.rpc("list_messages", { ...this.at(talk), p_limit: 20, p_before: cursor }),
    );
  }

  async after(talk: string, position: number): Promise<Message[]> {
    return this.rows(
      await this.client.rpc("list_messages", {
        ...this.at(talk),
        p_limit: 100,
        p_after_position: position,
      }),
    );
  }

  async events(run: string, sequence: number): Promise<RunEvent[]> {
    return this.rows(
      await this.client.rpc("list_run_events", {
        p_tenant_id: this.me.tenant,
        p_run_id: run,
        p_limit: 500,
        p_after_sequence: sequence,
      }),
    );
  }

  /** The run that is under way, if there is one: the newest of the conversation. */
  async activeRun(talk: string): Promise<string | null> {
    const runs = this.rows(
      await this.client.rpc("list_runs", { p_tenant_id: this.me.tenant, p_conversation_id: talk, p_limit: 1 }),
    );
    const run = runs[0];
    return run && !["completed", "failed", "cancelled"].includes(run.status) ? run.id : null;
  }

  async pending(talk: string): Promise<Interaction[]> {
    return this.rows(
      await this.client.rpc("list_interactions", {
        p_tenant_id: this.me.tenant,
        p_conversation_id: talk,
        p_status: "pending",
      }),
    );
  }

  /** A message's id is made before the first try: sent again, it is known, and not doubled. */
  async send(talk: string, id: string, text: string): Promise<void> {
    const part = { type: "text", schema_version: 1, text };
    const message: Json = { id, role: "user", parts: [part] };
    const [done] = this.rows(
      await this.client.rpc("append_messages", { ...this.at(talk), p_messages: [message] }),
    );
    if (done?.outcome === "conflict") throw new Error("this message was not written: its id is taken");
  }

  async decide(interaction: string, decision: "allow-once" | "deny"): Promise<void> {
    this.rows(
      await this.client.rpc("decide_approval", {
        p_tenant_id: this.me.tenant,
        p_interaction_id: interaction,
        p_decision: decision,
        p_resolved_by: this.me.principal,
      }),
    );
  }

  private at(talk: string) {
    return { p_tenant_id: this.me.tenant, p_conversation_id: talk };
  }

  private rows<Row>(answer: { data: Row[] | null; error: { message: string; hint: string } | null }): Row[] {
    if (answer.error) throw new Error([answer.error.message, answer.error.hint].filter(Boolean).join(". "));
    return answer.data ?? [];
  }
}
