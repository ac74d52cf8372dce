// systemd's watchdog (WatchdogSec): a process whose event loop stands says nothing any more, is killed and started again.
import { execFile } from 'node:child_process';
import type { Logger } from '#infra/log/logger.ts';

/** Of the time after which systemd takes silence for death. */
const SHARE = 3;
const MICROSECONDS_PER_MS = 1_000;
const SAYING_MS_MAX = 5_000;
const EVERY_MS_MAX = 60_000;

/**
 * Says now, and again and again, that the process lives. Answers what ends that.
 *
 * @param limitUs `WATCHDOG_USEC`, in microseconds; null: nobody watches.
 * @param say Tells it; rejects where that failed, which is logged.
 */
export function tellSystemd(
  limitUs: number | null,
  say: () => Promise<void>,
  logger: Pick<Logger, 'warn'>,
): () => void {
  if (limitUs === null) return () => undefined;
  const tell = (): void => void say().catch((error: unknown) => logger.warn({ err: error }, 'systemd was not told'));
  tell();
  const timer = setInterval(tell, Math.min(limitUs / MICROSECONDS_PER_MS / SHARE, EVERY_MS_MAX)).unref();
  return () => clearInterval(timer);
}

/** By systemd's own program, as Node has no datagram sockets of Unix. @param socket `NOTIFY_SOCKET` */
export function sayAlive(socket: string): Promise<void> {
  const env = { NOTIFY_SOCKET: socket, PATH: '/usr/bin:/bin' };
  return new Promise((resolve, reject) => {
    execFile('systemd-notify', ['WATCHDOG=1'], { env, timeout: SAYING_MS_MAX }, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}
