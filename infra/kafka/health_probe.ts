import type { Admin, Kafka } from 'kafkajs';

/** Whether the cluster answers, asked every few seconds. */
export interface HealthProbe {
  alive(): boolean;
  stop(): Promise<void>;
}

const INTERVAL_MS = 2_000;
const ANSWER_MS_MAX = 3_000;
/** A request without an answer for so long is given up, and so is the client that sent it. */
const QUESTION_MS_MAX = 60_000;

export async function openAdmin(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin();
  await admin.connect();
  return admin;
}

/**
 * Probes the cluster. It counts as alive at first, as a connection was just made. A client that hangs is replaced by
 * another, so that one request without an answer does not make the cluster count as away for ever.
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
    // A client that hangs, or was never opened, is not waited for.
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
