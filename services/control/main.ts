import { randomBytes } from 'node:crypto';
import { environment } from '#infra/config/config.ts';
import { controlConfig } from '#infra/config/stage_config.ts';
import { createDeadLetterStore } from '#infra/dead_letters/store.ts';
import { isAddressAllowed } from '#infra/egress/guard.ts';
import { listen } from '#infra/http/server.ts';
import { createRedis } from '#infra/redis/client.ts';
import { createKeyUseView } from '#infra/redis/key_use.ts';
import { createMonthUseView } from '#infra/redis/month_use.ts';
import { followReplays } from '#infra/replay/follow.ts';
import { parseKeyRing } from '#infra/secrets/key_ring.ts';
import { sealSecret } from '#infra/secrets/seal.ts';
import { openSettingsJournal } from '#infra/settings/journal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { createRequestErrors } from '#services/request_errors.ts';
import { runProcess } from '#services/runtime.ts';
import { createControlApp } from './app.ts';
import { ensureFirstToken } from './first_token.ts';
import { openQueries } from './open_queries.ts';

/** HTTP -> site.config: the only writer of settings. What follows the topic goes on without it. */
runProcess('control', async (runtime) => {
  const config = controlConfig(environment());
  const ring = parseKeyRing(config.secretsKeys);
  const journal = await openSettingsJournal(runtime.session, runtime.registry, runtime.logger, (error) =>
    runtime.fatal(error),
  );
  runtime.onStop(() => journal.close());
  if (config.firstToken !== null) await ensureFirstToken(journal, config.firstToken, Date.now());
  const redis = createRedis(runtime.config.parts.redisUrl, runtime.logger);
  runtime.onStop(async () => redis.disconnect());
  const replays = await followReplays(runtime.session, runtime.registry, runtime.logger, runtime.fatal);
  runtime.onStop(() => replays.stop());
  const queries = openQueries(runtime.config.parts.clickhouseUrl, runtime.logger);
  runtime.onStop(() => queries.close());
  const deadLetters = createDeadLetterStore(runtime.session, runtime.registry, runtime.logger, Date.now);
  const app = createControlApp({
    journal,
    adapters: DESTINATIONS,
    queries: queries.answers,
    deadLetters,
    replayProgress: (id) => replays.states.get(id),
    keyUse: createKeyUseView(redis, runtime.logger, Date.now),
    monthUse: createMonthUseView(redis, runtime.logger, Date.now),
    seal: (place, value) => sealSecret(ring, place, value, randomBytes),
    randomBytes,
    isAddressAllowed: (address) => isAddressAllowed(address, config.allowLoopback),
    nowMs: Date.now,
    healthy: () => journal.writable(),
    errors: createRequestErrors({
      metrics: runtime.metrics,
      logger: runtime.logger,
      nowMs: Date.now,
      inARowMax: config.requestErrorsMax,
      fatal: runtime.fatal,
    }),
  });
  const port = await listen(app, config.host, config.port);
  runtime.onStop(() => app.close());
  runtime.ready({ url: `http://${config.host}:${port}` });
});
