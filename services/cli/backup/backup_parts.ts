// What a backup is taken of and brought back to: the parts, and the keys without which it is worth little.

import { createHmac, hash } from 'node:crypto';
import { type StaticDecode, Type } from 'typebox';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { PARTS, SECRETS } from '#infra/config/service_config.ts';
import { type KafkaSession, openKafka } from '#infra/kafka/client.ts';
import { createLogger } from '#infra/log/logger.ts';
import { parseKeyRing } from '#infra/secrets/seal.ts';
import type { Manifest } from './archive.ts';

const { registryUrl, clickhouseUrl, clickhouseCluster, kafka } = PARTS.properties;
const BACKUP_PARTS = Type.Object({
  ...{ registryUrl, clickhouseUrl, clickhouseCluster, kafka },
  ...{ secretsKeys: SECRETS.secretsKeys, identitySecret: SECRETS.identitySecret },
});
export type BackupParts = StaticDecode<typeof BACKUP_PARTS>;

/** Files of the local folder, by the variables that they stand for. */
const LOCAL_SECRETS = { SECRETS_KEYS: 'secrets.keys', IDENTITY_SECRET: 'identity.secret' };

/**
 * Reads what names the parts, and the keys; those of what runs here are read from its folder. @throws ConfigError
 *
 * @param readLocal A file of the local folder; null where there is none.
 */
export function readBackupParts(env: Environment, readLocal: (name: string) => string | null): BackupParts {
  const local = Object.entries(LOCAL_SECRETS).flatMap(([variable, name]) => {
    const text = env[variable] ? null : readLocal(name);
    return text === null ? [] : [[variable, text.trim()] as const];
  });
  return readSettings(BACKUP_PARTS, { ...env, ...Object.fromEntries(local) });
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
