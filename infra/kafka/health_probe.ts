import type { Admin, Kafka } from 'kafkajs';

/** Whether the cluster answers, asked every few seconds. */
export interface HealthProbe {
  alive(): boolean;
  stop(): Promise<void>;
}

const INTERVAL_MS = 2_000;
const ANSWER_MS_MAX = 3_000;
/** A question that is open for so long is given up, with the client it was asked through. */
const QUESTION_MS_MAX = 60_000;

export async function openAdmin(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin();
  await admin.connect();
  return admin;
}

/**
 * Watches the cluster. Starts alive, as a connection was just made. A client that hangs is replaced by another: what one
 * question comes to must not say for ever that the cluster is away.
 */
export function watchCluster(open: () => Promise<Pick<Admin, 'describeCluster' | 'disconnect'>>): HealthProbe {
  let alive = true;
  let asking = false;
  let admin: ReturnType<typeof open> | null = null;

  async function ask(): Promise<void> {
    if (asking) return;
    asking = true;
    const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
    const late = setTimeout(() => {
      alive = false;
    }, ANSWER_MS_MAX);
    const end = setTimeout(() => giveUp(new Error('the cluster does not answer')), QUESTION_MS_MAX);
    try {
      await Promise.race([describe(), givenUp]);
      alive = true;
    } catch {
      alive = false;
      void close();
    } finally {
      clearTimeout(late);
      clearTimeout(end);
      asking = false;
    }
  }

  async function describe(): Promise<void> {
    admin ??= open();
    await (await admin).describeCluster();
  }

  async function close(): Promise<void> {
    const closing = admin;
    admin = null;
    // One that hangs, or was never opened, is left to itself.
    await closing?.then((one) => one.disconnect()).catch(() => undefined);
  }

  const timer = setInterval(() => void ask(), INTERVAL_MS);
  return {
    alive: () => alive,
    async stop() {
      clearInterval(timer);
      await close();
    },
  };
}
