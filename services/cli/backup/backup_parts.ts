// What a backup is taken of and brought back to: the parts, and the keys without which it is worth little.

import { spawn } from 'node:child_process';
import { createHmac, hash } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type StaticDecode, Type } from 'typebox';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { PARTS, SECRETS } from '#infra/config/service_config.ts';
import { type KafkaSession, openKafka } from '#infra/kafka/client.ts';
import { createLogger } from '#infra/log/logger.ts';
import { parseKeyRing } from '#infra/secrets/seal.ts';
import type { ReadyMessage, RefilledMessage } from '#services/stage/runtime.ts';
import type { Manifest } from './archive.ts';

const { registryUrl, clickhouseUrl, clickhouseCluster, kafka } = PARTS.properties;
const BACKUP_PARTS = Type.Object({
  ...{ registryUrl, clickhouseUrl, clickhouseCluster, kafka },
  ...{ secretsKeys: SECRETS.secretsKeys, identitySecret: SECRETS.identitySecret },
});
export type BackupParts = StaticDecode<typeof BACKUP_PARTS>;

/** Files of the local folder, by the variables that they stand for. */
const LOCAL_SECRETS = { SECRETS_KEYS: 'secrets.keys', IDENTITY_SECRET: 'identity.secret' };

/** A file of the local folder; null where there is none. */
type ReadLocal = (name: string) => string | null;

/** What names the parts, and the keys. @throws ConfigError */
export const readBackupParts = (env: Environment, readLocal: ReadLocal): BackupParts =>
  readSettings(BACKUP_PARTS, withLocalKeys(env, readLocal));

/** The environment, with the keys of what runs here where it names none. */
function withLocalKeys(env: Environment, readLocal: ReadLocal): Environment {
  const local = Object.entries(LOCAL_SECRETS).flatMap(([variable, name]) => {
    const text = env[variable] ? null : readLocal(name);
    return text === null ? [] : [[variable, text.trim()] as const];
  });
  return { ...env, ...Object.fromEntries(local) };
}

const REFILL = fileURLToPath(new URL('../../warehouse/refill.ts', import.meta.url));

/**
 * Runs the process that fills rows in, which logs on standard error how far it is, and ends where this one does. Resolves to how many
 * records and events made no row, as when they came; null: it ended before its end.
 */
export async function runRefill(env: Environment, readLocal: ReadLocal, sinceMs: number): Promise<number | null> {
  const child = spawn(process.execPath, [REFILL, new Date(sinceMs).toISOString()], {
    ...{ env: withLocalKeys(env, readLocal), stdio: ['ignore', process.stderr, 'inherit', 'ipc'] },
  });
  let leftOut: number | null = null;
  child.on('message', (message: RefilledMessage | ReadyMessage) => {
    if (message.kind === 'refilled') leftOut = message.leftOut;
  });
  await once(child, 'close');
  return leftOut;
}

const MIB = 1024 ** 2;

const QUIET_MS = 60_000;

/** Says how much ClickHouse has written or read so far, where that is more, else each minute: of a cluster it does not tell. */
export function sayingBytes(say: (line: string) => void, nowMs: () => number): (bytes: number) => void {
  let said = '';
  let saidAtMs = 0;
  return (bytes) => {
    const now = `ClickHouse: ${Math.round(bytes / MIB)} MiB`;
    const isMore = now !== said;
    if (!isMore && nowMs() - saidAtMs < QUIET_MS) return;
    say(isMore ? now : `${now}, and goes on`);
    [said, saidAtMs] = [now, nowMs()];
  };
}

const MARK_CHARACTERS = 16;

/** Tell keys apart, and nothing of what they are. */
export function keyMarks({
  identitySecret,
  secretsKeys,
}: Pick<BackupParts, 'identitySecret' | 'secretsKeys'>): Manifest['keys'] {
  const identity = createHmac('sha256', identitySecret).update('svc backup').digest('hex').slice(0, MARK_CHARACTERS);
  const sealing = [...parseKeyRing(secretsKeys).byId.values()].map(
    ({ keyId, fingerprint }) => `${keyId}:${hash('sha256', fingerprint, 'hex').slice(0, MARK_CHARACTERS)}`,
  );
  return { identity, sealing };
}

/** With a connection to Kafka that is closed behind. */
export async function withKafka<T>(
  { kafka: config }: Pick<BackupParts, 'kafka'>,
  work: (session: KafkaSession) => Promise<T>,
): Promise<T> {
  const session = await openKafka(config, `${config.prefix}.backup`, createLogger('backup', 'silent'));
  try {
    return await work(session);
  } finally {
    await session.stop();
  }
}
