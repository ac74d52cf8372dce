import { type Static, type StaticDecode, Type } from 'typebox';
import { Value } from 'typebox/value';
import { isPasswordHash } from '#infra/secrets/password.ts';
import { EDGE, HTTP } from './edge_config.ts';
import {
  ConfigError,
  type Environment,
  HTTP_URL,
  integer,
  isAddressWithPort,
  isDomainName,
  isHostName,
  isPrivateUrl,
  list,
  listenHost,
  optionalText,
  PUBLIC_URL,
  readSettings,
  scaled,
  text,
} from './environment.ts';
import { ANY_PROCESS, SECRETS } from './service_config.ts';
import { deliveryBaseUrls, EGRESS } from './stage_config.ts';

const FIRST_TOKEN = Type.Object({
  hash: optionalText('CONTROL_FIRST_TOKEN_SHA256', {
    pattern: '^[0-9a-f]{64}$',
    allowed: 'a SHA-256 in lower-case hex',
    startDefault: "that of the data folder's `admin.token`",
    description: 'An admin token that is registered at start.',
  }),
  label: text('CONTROL_FIRST_TOKEN_LABEL', {
    default: 'first',
    startDefault: '`local`',
    description: 'Its label.',
  }),
});

const FIRST_USER = Type.Object({
  userId: optionalText('CONTROL_FIRST_USER', {
    pattern: '^[a-z0-9_-]{1,64}$',
    allowed: 'up to 64 of a-z, 0-9, _ and -',
    startDefault: '`admin`',
    description: 'Owner of the installation, made at start; with `CONTROL_FIRST_PASSWORD_HASH`.',
  }),
  passwordHash: optionalText('CONTROL_FIRST_PASSWORD_HASH', {
    check: isPasswordHash,
    allowed: 'what `npm run svc -- user hash` prints',
    startDefault: "that of the data folder's `admin.password`",
    description: "That user's password.",
  }),
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const DOMAINS = Type.Object({
  checkMs: integer('CONTROL_DOMAIN_CHECK_MS', {
    default: 10 * MINUTE_MS,
    range: [100, 24 * HOUR_MS],
    description: 'Pause between checks of DNS records.',
  }),
  graceMs: scaled('CONTROL_DOMAIN_GRACE_HOURS', HOUR_MS, {
    default: 72,
    maximum: 24 * 90,
    description: 'How long a domain is served after its record is gone.',
  }),
  cnameTarget: optionalText('CONTROL_DOMAIN_CNAME_TARGET', {
    check: isDomainName,
    allowed: 'a domain name in lower case',
    defaultText: 'none: TXT records only',
    description: 'Name whose subdomains lead to the edge, for CNAME records.',
  }),
});

const DNS = Type.Object({
  servers: list('CONTROL_DNS_SERVERS', {
    check: isAddressWithPort,
    allowed: 'IP addresses, each with a port or without, separated by commas',
    default: [],
    defaultText: "the system's",
    description: 'Name servers for these checks.',
  }),
  timeoutMs: integer('CONTROL_DNS_TIMEOUT_MS', {
    default: 2_000,
    range: [50, 30_000],
    description: 'Timeout of a DNS query; each is tried twice.',
  }),
});

const QUERIES = Type.Object({
  atOnce: integer('CONTROL_QUERIES_AT_ONCE', {
    default: 8,
    range: [1, 1_000],
    description: 'Queries that this process runs at once; others wait up to 8 seconds.',
  }),
  siteAtOnce: integer('CONTROL_SITE_QUERIES_AT_ONCE', {
    default: 3,
    range: [1, 1_000],
    description: 'Of these, queries of one site.',
  }),
});

/** Those of pipelines/settings/access.ts, which a test compares. */
export const HELD_ROLES: readonly string[] = ['owner', 'admin', 'analyst', 'operator', 'viewer'];

const PROVIDERS = Type.Array(
  Type.Object(
    {
      id: Type.String({ pattern: '^[a-z0-9_-]{1,32}$' }),
      label: Type.String({ minLength: 1, maxLength: 40 }),
      issuer: Type.Refine(Type.String(), isIssuer),
      client_id: Type.String({ minLength: 1 }),
      client_secret: Type.String({ minLength: 1 }),
      auth_time_optional: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  { maxItems: 5 },
);

const OIDC_PROVIDERS = Type.Decode(
  text('CONTROL_OIDC_PROVIDERS', {
    default: '[]',
    check: areProviders,
    allowed:
      'a JSON array of up to 5 objects with id, label, issuer, client_id, client_secret and maybe auth_time_optional',
    description: '[Providers of OpenID Connect](dashboard.md#signing-in-at-a-provider).',
  }),
  (json) =>
    (JSON.parse(json) as Static<typeof PROVIDERS>).map((provider) => {
      const { id, label, issuer, client_id, client_secret, auth_time_optional: isTimeOptional = false } = provider;
      return { id, label, issuer, clientId: client_id, clientSecret: client_secret, isTimeOptional };
    }),
);

export const CONTROL = Type.Object({
  host: listenHost('CONTROL_HOST'),
  port: integer('CONTROL_PORT', {
    default: 8090,
    maximum: 65_535,
    startDefault: 'a free port, kept',
    description: 'Port to listen on; `0` takes any free port.',
  }),
  hosts: list('CONTROL_HOSTS', {
    check: isHostName,
    allowed: 'names or addresses, each with a port or without, separated by commas',
    default: [],
    description: 'Further accepted Host headers.',
  }),
  edgeUrl: optionalText('CONTROL_EDGE_URL', {
    ...PUBLIC_URL,
    startDefault: 'the local edge',
    description: 'Address of the edge for browsers, for sites without a domain.',
  }),
  domains: DOMAINS,
  dns: DNS,
  queries: QUERIES,
  sqlUrl: optionalText('CONTROL_SQL_URL', {
    ...HTTP_URL,
    defaultText: 'none: no SQL',
    startDefault: 'the local ClickHouse',
    description:
      'ClickHouse with the user of [SQL over the API](analytics.md#sql-over-the-api) and its database `sql_views`; not with `CLICKHOUSE_CLUSTER`.',
  }),
  analystsUrl: optionalText('CONTROL_ANALYSTS_URL', {
    ...HTTP_URL,
    defaultText: 'none: users are made by hand',
    description:
      'ClickHouse with the user that makes [users of analysts](analytics.md#users-of-clickhouse-over-the-api); not with `CLICKHOUSE_CLUSTER`.',
  }),
  secondFactorRoles: list('CONTROL_REQUIRE_SECOND_FACTOR', {
    check: (role) => HELD_ROLES.includes(role),
    allowed: `roles of ${HELD_ROLES.join(', ')}, separated by commas`,
    default: [],
    defaultText: 'none',
    description: 'Roles that require a second factor.',
  }),
  firstUser: FIRST_USER,
  oidcProviders: OIDC_PROVIDERS,
  firstToken: Type.Decode(FIRST_TOKEN, ({ hash, label }) => (hash === null ? null : { hash, label })),
});

export function controlProcess(names: readonly string[]) {
  return Type.Object({
    ...ANY_PROCESS.properties,
    ...CONTROL.properties,
    ...HTTP.properties,
    ...EGRESS.properties,
    trustedProxies: EDGE.properties.trustedProxies,
    ...SECRETS,
    deliveryBaseUrls: deliveryBaseUrls(names),
  });
}

export type ControlConfig = StaticDecode<ReturnType<typeof controlProcess>>;

/**
 * @throws ConfigError, also where SQL would be taken, or analysts made, on a cluster: rights on a distributed table may not
 * hold on its shards; and where the first user lacks a password.
 */
export function controlConfig(env: Environment, names: readonly string[]): ControlConfig {
  const config = readSettings(controlProcess(names), env);
  const faults: string[] = [];
  if (config.parts.clickhouseCluster !== null) {
    if (config.sqlUrl !== null) {
      faults.push('CONTROL_SQL_URL must not be set where CLICKHOUSE_CLUSTER is: SQL is not taken on a cluster');
    }
    if (config.analystsUrl !== null) {
      const why = 'row policies may not hold on its shards';
      faults.push(`CONTROL_ANALYSTS_URL must not be set where CLICKHOUSE_CLUSTER is: ${why}`);
    }
  }
  const { userId, passwordHash } = config.firstUser;
  if ((userId === null) !== (passwordHash === null)) {
    faults.push('CONTROL_FIRST_USER and CONTROL_FIRST_PASSWORD_HASH must be set together');
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Whether a text is such an array, each with an id of its own. */
function areProviders(json: string): boolean {
  try {
    const providers: unknown = JSON.parse(json);
    if (!Value.Check(PROVIDERS, providers)) return false;
    return new Set(providers.map(({ id }) => id)).size === providers.length;
  } catch {
    return false;
  }
}

function isIssuer(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && !/[?#]/.test(value) && url.username === '' && isPrivateUrl(url);
}
