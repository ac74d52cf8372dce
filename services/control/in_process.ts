import { randomBytes } from 'node:crypto';
import type { Environment } from '#infra/config/config.ts';
import { partsConfig } from '#infra/config/service_config.ts';
import { controlConfig } from '#infra/config/stage_config.ts';
import { createDeadLetterStore } from '#infra/dead_letters/store.ts';
import { isAddressAllowed } from '#infra/egress/guard.ts';
import type { HttpServer } from '#infra/http/server.ts';
import { openKafka } from '#infra/kafka/session.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createRedis } from '#infra/redis/client.ts';
import { createKeyUseView } from '#infra/redis/key_use.ts';
import { createMonthUseView } from '#infra/redis/month_use.ts';
import { createRegistry } from '#infra/registry/registry.ts';
import { followReplays } from '#infra/replay/follow.ts';
import { parseKeyRing } from '#infra/secrets/key_ring.ts';
import { sealSecret } from '#infra/secrets/seal.ts';
import { openSettingsJournal } from '#infra/settings/journal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { createControlApp } from './app.ts';
import { type ControlClient, createControlClient, type Transport } from './client.ts';
import { ensureFirstToken } from './first_token.ts';
import { openQueries } from './open_queries.ts';

/** A control service inside the caller's process, without a port. */
export interface OpenControl {
  client: ControlClient;
  transport: Transport;
  close(): Promise<void>;
}

/**
 * Opens the control service on the parts that an environment names, for one-off work where no control process runs. Its
 * `CONTROL_FIRST_TOKEN_SHA256` must be the hash of the token given. A control process that does run is fenced by its
 * first change, and opens the topic anew at its own next one.
 */
export async function openControl(env: Environment, token: string, logger: Logger): Promise<OpenControl> {
  const config = controlConfig(env);
  const parts = partsConfig(env);
  const ring = parseKeyRing(config.secretsKeys);
  const session = await openKafka(parts.kafka, 'svc.control.once', logger);
  let failure: unknown = null;
  const onFatal = (error: unknown): void => {
    failure ??= error;
  };
  const journal = await openSettingsJournal(session, createRegistry(parts.registryUrl), logger, onFatal);
  if (config.firstToken !== null) await ensureFirstToken(journal, config.firstToken, Date.now());
  const redis = createRedis(parts.redisUrl, logger);
  const queries = openQueries(parts.clickhouseUrl, logger);
  const replays = await followReplays(session, createRegistry(parts.registryUrl), logger, onFatal);
  const deadLetters = createDeadLetterStore(session, createRegistry(parts.registryUrl), logger, Date.now);
  const app = createControlApp({
    journal,
    adapters: DESTINATIONS,
    queries: queries.answers,
    deadLetters,
    replayProgress: (id) => replays.states.get(id),
    keyUse: createKeyUseView(redis, logger, Date.now),
    monthUse: createMonthUseView(redis, logger, Date.now),
    seal: (place, value) => sealSecret(ring, place, value, randomBytes),
    randomBytes,
    isAddressAllowed: (address) => isAddressAllowed(address, config.allowLoopback),
    nowMs: Date.now,
    healthy: () => journal.writable(),
    errors: { saw: onFatal, succeeded: () => undefined },
  });
  const transport: Transport = async (request) => {
    const answer = await injected(app)(request);
    if (failure !== null) throw failure;
    return answer;
  };
  return {
    client: createControlClient(transport, token),
    transport,
    async close() {
      await app.close();
      await journal.close();
      await replays.stop();
      redis.disconnect();
      await queries.close();
      await session.stop();
    },
  };
}

/** Carries requests to an app without a socket. */
export function injected(app: HttpServer): Transport {
  return async ({ method, path, headers, body }) => {
    const payload = body === null ? {} : { payload: body };
    const response = await app.inject({ method: method as 'GET', url: path, headers, ...payload });
    return { status: response.statusCode, body: response.body };
  };
}
