import { type StaticDecode, Type } from 'typebox';
import { CONTROL } from './control_config.ts';
import { EDGE } from './edge_config.ts';
import { type Environment, HTTP_URL, list, optionalText, orNull, readSettings, text } from './environment.ts';
import { PARTS } from './service_config.ts';

/** Where everything local is kept: read by `npm start`, and by the command line, which looks there for what runs. */
export const LOCAL = Type.Object({
  localDir: optionalText('LOCAL_DIR', {
    allowed: 'the path of a folder',
    defaultText: '`.local`',
    description: 'Data folder of `npm start` and `npm run svc`; `npm run demo` takes `--ready PATH`.',
  }),
});

/** What `npm start` reads for itself; `names` are the destinations there are. */
export function deliveriesSettings(names: readonly string[]) {
  return Type.Object({
    destinations: orNull(
      list('DELIVERY_DESTINATIONS', {
        check: (name) => names.includes(name),
        allowed: 'names of destinations, separated by commas',
        defaultText: 'all',
        description: 'Deliveries that may run; each starts with the first site that has the destination.',
      }),
    ),
  });
}

function startSettings(names: readonly string[]) {
  const { registryUrl, redisUrl, clickhouseUrl, kafka } = PARTS.properties;
  return Type.Object({
    ...LOCAL.properties,
    ...deliveriesSettings(names).properties,
    edgePort: orNull(EDGE.properties.port),
    controlPort: orNull(CONTROL.properties.port),
    brokers: orNull(kafka.properties.brokers),
    eventPartitions: orNull(kafka.properties.eventPartitions),
    registryUrl: orNull(registryUrl),
    redisUrl: orNull(redisUrl),
    clickhouseUrl: orNull(clickhouseUrl),
  });
}

export type StartConfig = StaticDecode<ReturnType<typeof startSettings>>;

/** What the user has set for `npm start`; null where nothing is set. */
export function startConfig(env: Environment, names: readonly string[]): StartConfig {
  return readSettings(startSettings(names), env);
}

export const COMMAND_LINE = Type.Object({
  controlUrl: optionalText('SVC_CONTROL_URL', {
    ...HTTP_URL,
    defaultText: 'from `ready.json`',
    description: 'Address of the control service.',
  }),
  adminToken: optionalText('SVC_ADMIN_TOKEN', {
    defaultText: 'the local token',
    description: 'Admin token; required for another control service.',
  }),
  edgeUrl: optionalText('SVC_EDGE_URL', {
    ...HTTP_URL,
    defaultText: 'from `ready.json`',
    description: 'Address of the edge, for `svc import`.',
  }),
  serverKey: optionalText('SVC_SERVER_KEY', {
    defaultText: 'the local key',
    description: 'A server key of the site, for `svc import`.',
  }),
  clickhouse: optionalText('SVC_CLICKHOUSE_PROGRAM', {
    allowed: 'program',
    defaultText: 'the package chdb',
    description: "ClickHouse's program (`clickhouse`), by which `svc import` reads Parquet.",
  }),
  s3: Type.Object({
    endpoint: optionalText('AWS_ENDPOINT_URL_S3', {
      ...HTTP_URL,
      defaultText: "AWS's of the region",
      description: 'Of another provider, for `svc import watch s3://…`.',
    }),
    region: text('AWS_REGION', { default: 'us-east-1', allowed: 'region', description: 'Of the bucket.' }),
    accessKeyId: optionalText('AWS_ACCESS_KEY_ID', { defaultText: 'none', description: 'May list and get objects.' }),
    secretAccessKey: optionalText('AWS_SECRET_ACCESS_KEY', { defaultText: 'none', description: 'Its secret.' }),
    sessionToken: optionalText('AWS_SESSION_TOKEN', { defaultText: 'none', description: 'Of temporary keys.' }),
  }),
});

const COMMAND_LINE_AND_FOLDER = Type.Object({ ...LOCAL.properties, ...COMMAND_LINE.properties });

export type CommandLineConfig = StaticDecode<typeof COMMAND_LINE_AND_FOLDER>;

export const commandLineConfig = (env: Environment): CommandLineConfig => readSettings(COMMAND_LINE_AND_FOLDER, env);

/** Variables that other programs define too; they are read as they are. */
export const TOOLS = Type.Object({
  javaHome: optionalText('JAVA_HOME', {
    allowed: 'the path of a folder',
    defaultText: 'none',
    description: 'Java to prefer if it is new enough.',
  }),
  path: text('PATH', {
    default: '',
    allowed: 'folders, separated by colons',
    defaultText: "the system's",
    description: 'Where `java`, `mvn`, `redis-server` and `python3` are found.',
  }),
  kafkaJavaOptions: optionalText('KAFKA_JVM_PERFORMANCE_OPTS', {
    allowed: "options of Java, separated by spaces; Kafka's own variable",
    defaultText: '`-XX:TieredStopAtLevel=1` where one broker runs',
    description: 'For brokers of `npm start`. The default starts quickly; under load for minutes `-server` takes less.',
  }),
  noColor: optionalText('NO_COLOR', {
    defaultText: 'none',
    description: "Keeps colours out of the demo's output.",
  }),
});

export const toolsConfig = (env: Environment): StaticDecode<typeof TOOLS> => readSettings(TOOLS, env);
