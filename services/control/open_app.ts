import { randomBytes } from 'node:crypto';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { ControlConfig } from '#infra/config/control_config.ts';
import { createDeadLetterStore } from '#infra/dead_letters/dead_letter_store.ts';
import { createDnsResolver } from '#infra/dns/resolver.ts';
import { isAddressAllowed } from '#infra/egress/guard.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import type { HttpServer } from '#infra/http/http_server.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createProviderClient } from '#infra/oidc/provider_client.ts';
import { createPersonSplits } from '#infra/persons/person_splits.ts';
import { createRedis, type Redis, RedisUnavailableError } from '#infra/redis/client.ts';
import { createKeyUseView } from '#infra/redis/key_use.ts';
import { createMonthUseView } from '#infra/redis/month_use.ts';
import { createOneTimeNotes } from '#infra/redis/one_time_notes.ts';
import { type RefusalRecord, readRefusalRecord } from '#infra/redis/refusals.ts';
import { createSessionStore } from '#infra/redis/sessions.ts';
import { createSharedAnswers } from '#infra/redis/shared_answers.ts';
import { createSignInLimits } from '#infra/redis/sign_in_limits.ts';
import { readTagRecord } from '#infra/redis/tag_health.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { followReplays } from '#infra/replay/follow_replays.ts';
import { parseKeyRing } from '#infra/secrets/key_ring.ts';
import { createPasswords } from '#infra/secrets/password.ts';
import { createRecordSeal, sealSecret } from '#infra/secrets/seal.ts';
import { openDataReadLog } from '#infra/settings/data_read_log.ts';
import { openSettingsJournal } from '#infra/settings/journal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { nodeOf, phoneHmac, visitorNode } from '#pipelines/identity/resolve.ts';
import { isRole } from '#pipelines/settings/access.ts';
import { createControlApp } from './app.ts';
import type { ControlOptions } from './control_options.ts';
import type { LoadDashboard } from './dashboard_files.ts';
import { createDataReadAudit, gateDataReads } from './data_read_audit.ts';
import { watchDomains } from './domain_watch.ts';
import { ensureFirstToken } from './first_token.ts';
import { ensureFirstUser } from './first_user.ts';
import { gateLetters } from './letter_gate.ts';
import { openQueries } from './open_queries.ts';
import type { OwnNames } from './request_guard.ts';
import { createSessionKeeper } from './session_keeper.ts';
import { createSignInAudit } from './sign_in_audit.ts';
import { createStageView } from './stage_view.ts';
import { createTestSender } from './test_sender.ts';
import { createUserSecrets, warnOfUnopened } from './user_secrets.ts';

/** What a control service is made of; a process and a test each bring their own. */
export interface ControlParts {
  config: ControlConfig;
  session: KafkaSession;
  registry: Registry;
  logger: Logger;
  errors: ControlOptions['errors'];
  fatal(error: unknown): void;
  /** Registers what to stop, to be run in reverse order. */
  onStop(task: () => Promise<unknown>): void;
  dashboard: LoadDashboard;
}

const READS_SWEPT_MS = 60_000;

/** Connects the control service to its parts; the app that is answered neither listens nor is stopped here. */
export async function openControlApp(parts: ControlParts): Promise<HttpServer> {
  const { config, session, registry, logger, fatal, onStop } = parts;
  const ring = parseKeyRing(config.secretsKeys);
  const identitySecrets = [config.identitySecret, ...config.formerIdentitySecrets];
  const recordSeal = createRecordSeal(ring, randomBytes);
  const journal = await openSettingsJournal(session, registry, logger, fatal);
  onStop(() => journal.close());
  const dataReadLog = await openDataReadLog(session, registry);
  onStop(() => dataReadLog.stop());
  const dataReads = createDataReadAudit(dataReadLog, logger, Date.now);
  const sweeping = setInterval(() => void dataReads.sweep(), READS_SWEPT_MS);
  onStop(() => {
    clearInterval(sweeping);
    return dataReads.stop();
  });
  if (config.firstToken !== null) await ensureFirstToken(journal, config.firstToken, Date.now());
  const userSecrets = createUserSecrets(ring, randomBytes, logger);
  const { userId, passwordHash } = config.firstUser;
  if (userId !== null && passwordHash !== null) {
    await ensureFirstUser(journal, userSecrets, { userId, passwordHash }, Date.now());
  }
  warnOfUnopened(journal.view().table.users(), userSecrets, logger);
  const redis = createRedis(config.parts.redisUrl, logger);
  onStop(async () => redis.disconnect());
  const replays = await followReplays(session, registry, logger, fatal);
  onStop(() => replays.stop());
  const queries = openQueries({
    clickhouseUrl: config.parts.clickhouseUrl,
    cluster: config.parts.clickhouseCluster,
    sqlUrl: config.sqlUrl,
    analystsUrl: config.analystsUrl,
    limits: config.queries,
    shared: createSharedAnswers(redis, monotonicMs),
    logger,
  });
  onStop(() => queries.close());
  const splitRows = createWarehouse(config.parts.clickhouseUrl);
  onStop(() => splitRows.close());
  const egress = createEgress({
    ...EGRESS_DEFAULTS,
    allowHttp: config.allowLoopback,
    allowLoopback: config.allowLoopback,
  });
  onStop(() => egress.close());
  const dns = createDnsResolver(config.dns);
  const domainRules = { cnameTarget: config.domains.cnameTarget, graceMs: config.domains.graceMs };
  onStop(watchDomains({ journal, dns, rules: domainRules, nowMs: Date.now, logger }, config.domains.checkMs, fatal));
  return createControlApp({
    journal,
    ownNames: ownNames(config),
    trustedProxies: config.trustedProxies,
    sessions: createSessionKeeper(createSessionStore(redis, recordSeal, Date.now), randomBytes, Date.now),
    limits: createSignInLimits(redis),
    passwords: createPasswords(),
    oidc: {
      providers: config.oidcProviders.map(createProviderClient),
      notes: createOneTimeNotes(redis, recordSeal, Date.now),
    },
    secondFactorRoles: config.secondFactorRoles.filter(isRole),
    userSecrets,
    signInAudit: createSignInAudit(journal, logger, Date.now),
    adapters: DESTINATIONS,
    queries: queries.answers,
    running: queries.running,
    analysts: queries.analysts,
    stages: createStageView({ admin: session.admin, groupOf: session.groupOf, nowMs: Date.now }),
    sendTest: createTestSender({ ring, egress, baseUrls: config.deliveryBaseUrls, nowMs: Date.now, monotonicMs }),
    deadLetters: gateLetters(createDeadLetterStore(session, registry, logger, Date.now)),
    dataReads: { read: dataReads.read, list: gateDataReads(dataReadLog) },
    replayProgress: (id) => replays.states.get(id),
    replaysNow: replays.readAllNow,
    keyUse: createKeyUseView(redis, logger, monotonicMs),
    readTagRecord: (siteId) => readTagRecord(redis, siteId),
    readRefusals: (siteId) => readRefusalsOf(redis, siteId),
    monthUse: createMonthUseView(redis, logger, Date.now, monotonicMs),
    phoneHmacs: (siteId, sha256) => identitySecrets.map((secret) => phoneHmac(secret, siteId, sha256)),
    keyedIdentifier: (siteId, identifier, sha256) => nodeOf(config.identitySecret, siteId, identifier, sha256),
    visitorNode: (siteId, distinctId) => visitorNode(config.identitySecret, siteId, distinctId),
    splits: createPersonSplits({
      ...{ session, registry, redis, logger, nowMs: Date.now },
      ...{ warehouse: splitRows, cluster: config.parts.clickhouseCluster },
    }),
    seal: (place, value) => sealSecret(ring, place, value, randomBytes),
    randomBytes,
    dns,
    domainRules,
    edgeUrl: config.edgeUrl === null ? null : new URL(config.edgeUrl).origin,
    isAddressAllowed: (address) => isAddressAllowed(address, config.allowLoopback),
    nowMs: Date.now,
    healthy: () => journal.writable(),
    errors: parts.errors,
    dashboard: parts.dashboard,
  });
}

async function readRefusalsOf(redis: Redis, siteId: string): Promise<RefusalRecord | null> {
  try {
    return await readRefusalRecord(redis, siteId);
  } catch (error) {
    if (error instanceof RedisUnavailableError) return null;
    throw error;
  }
}

/** An address to listen on is one to be asked under, unless it stands for every address. */
function ownNames({ publicUrl, hosts, host }: ControlConfig): OwnNames {
  const listened = host === '0.0.0.0' || host === '::' ? [] : [host.includes(':') ? `[${host}]` : host];
  return { publicUrl: publicUrl === null ? null : new URL(publicUrl), hosts: [...hosts, ...listened] };
}
