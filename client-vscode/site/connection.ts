/** A client of the language server in a worker: requests with answers, notifications both ways. */
import { FILES, type Files, SNAPSHOT, type Start } from "../src/web/messages";

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export class Connection {
  private last = 0;
  private readonly waiting = new Map<number, (message: Message) => void>();
  private readonly listeners = new Map<string, (params: never) => void>();

  private constructor(private readonly worker: Worker) {
    worker.onmessage = ({ data }: MessageEvent<Message>) => { this.hear(data); };
  }

  /** Python has ended, as it does where a program needs more of the stack than a page has: the connection is of no more use. */
  onEnded(heard: () => void): void {
    this.worker.onerror = () => {
      this.worker.terminate();
      heard();
    };
  }

  /** Starts a worker with the files that lie in a folder of this site. */
  static async open(folder: string): Promise<Connection> {
    const worker = new Worker(`${folder}/worker.js`);
    const parts = await Promise.all([...FILES, SNAPSHOT].map(async (name) => {
      const response = await fetch(`${folder}/${name}`);
      if (!response.ok) throw new Error(`${name}: ${response.statusText}`);
      return [name, new Uint8Array(await response.arrayBuffer())] as const;
    }));
    const files: Files = Object.fromEntries(parts);
    worker.postMessage({ files } satisfies Start, parts.map(([, content]) => content.buffer));
    return new Connection(worker);
  }

  async ask<T>(method: string, params: unknown): Promise<T> {
    const id = this.last += 1;
    const answer = new Promise<Message>((heard) => this.waiting.set(id, heard));
    this.worker.postMessage({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(error.message);
    return result as T;
  }

  tell(method: string, params: unknown): void {
    this.worker.postMessage({ jsonrpc: "2.0", method, params });
  }

  on(method: string, heard: (params: never) => void): void {
    this.listeners.set(method, heard);
  }

  private hear(message: Message): void {
    if (message.method !== undefined) {
      this.listeners.get(message.method)?.(message.params as never);
      if (message.id !== undefined) this.worker.postMessage({ jsonrpc: "2.0", id: message.id, result: null });
    } else if (message.id !== undefined) {
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    }
  }
}
