// Realtime as hints: it says when to look, and the tables say what there is.
import type { RealtimeChannel } from "@supabase/supabase-js";
import { type Api, topicOf } from "./api";

const POLL_MILLISECONDS = 2_000;
const IDLE_MILLISECONDS = 15_000;

/** Runs `look` at every hint, at every (re)join, and now and then: looks never overlap, and none is lost. */
export class Live {
  private readonly channel: RealtimeChannel;
  private timer: number | undefined;
  private isLooking = false;
  private isWanted = false;
  private isJoined = false;
  private isClosed = false;

  constructor(
    private readonly api: Api,
    names: string[],
    private readonly look: () => Promise<void>,
    private readonly tell: (isJoined: boolean, problem?: string) => void,
  ) {
    this.channel = api.client.channel(topicOf(...names), { config: { private: true } });
    this.channel.on("broadcast", { event: "*" }, () => void this.want());
    this.channel.subscribe((status) => {
      this.isJoined = status === "SUBSCRIBED";
      this.tell(this.isJoined);
      // What was written while nobody listened is read now.
      void this.want();
    });
    void this.want();
  }

  async want(): Promise<void> {
    this.isWanted = true;
    if (this.isLooking) return;
    this.isLooking = true;
    window.clearTimeout(this.timer);
    while (this.isWanted && !this.isClosed) {
      this.isWanted = false;
      try {
        await this.look();
        this.tell(this.isJoined);
      } catch (error) {
        this.tell(false, error instanceof Error ? error.message : String(error));
        break;
      }
    }
    this.isLooking = false;
    if (this.isClosed) return;
    // A silence is never trusted for long; without a channel this is polling.
    const wait = this.isJoined ? IDLE_MILLISECONDS : POLL_MILLISECONDS;
    this.timer = window.setTimeout(() => void this.want(), wait);
  }

  close(): void {
    this.isClosed = true;
    window.clearTimeout(this.timer);
    void this.api.client.removeChannel(this.channel);
  }
}
