// Files of variables, as systemd, `docker run --env-file`, and Secrets of Kubernetes take them: one of settings for all processes, and
// one for each process with what only it is told.
import { DEPLOYED, type DeployedProcess, isRequired, loginOf, PART_PORTS, PORTS, PROVISION } from './processes.ts';

export interface SettingsOf {
  /** Where a part is. */
  hostOf(part: keyof typeof PART_PORTS): string;
  partitions: number;
  replicas: number;
}

/** What every process is told: nothing secret, and all that has to be decided before the first start. */
export function settingsOf({ hostOf, partitions, replicas }: SettingsOf): Record<string, string> {
  return {
    KAFKA_BROKERS: `${hostOf('kafka')}:${PART_PORTS.kafka}`,
    KAFKA_TLS: 'false',
    KAFKA_SASL_MECHANISM: 'none',
    SCHEMA_REGISTRY_URL: `http://${hostOf('registry')}:${PART_PORTS.registry}/apis/ccompat/v7`,
    EVENT_PARTITIONS: String(partitions),
    KAFKA_REPLICATION_FACTOR: String(replicas),
    CONTROL_PUBLIC_URL: 'https://events.example.com',
    CONTROL_EDGE_URL: 'https://edge.example.com',
    CONTROL_HOSTS: `control:${PORTS.control}`,
    TRUSTED_PROXIES: '',
    OTEL_EXPORTER_OTLP_ENDPOINT: '',
  };
}

const SETTINGS_HEAD = `# What every process is told. Change it before the first start: EVENT_PARTITIONS and the replication factor are those of the topics
# then. TRUSTED_PROXIES are the addresses of what stands before the edge and control: left empty, all visitors are one address.`;

const envText = (head: string, values: Readonly<Record<string, string>>): string =>
  `${[head, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join('\n')}\n`;

export const settingsText = (settings: SettingsOf): string => envText(SETTINGS_HEAD, settingsOf(settings));

/** The file of a process, in which whoever deploys it fills in what is empty. */
function ownText(process: DeployedProcess, metricsPort: number): string {
  const { name, own } = process;
  const needed = own.filter(isRequired).map(({ facts }) => facts.variable);
  const known: Record<string, string> = { KAFKA_SASL_USERNAME: loginOf(process), METRICS_PORT: String(metricsPort) };
  const head = `# What only ${name} is told. Keep a filled-in copy where others cannot read it.${needed.length === 0 ? '' : ` Required: ${needed.join(', ')}.`}`;
  return envText(head, Object.fromEntries(own.map(({ facts }) => [facts.variable, known[facts.variable] ?? ''])));
}

/** The files of deploy/environment. */
export const ENVIRONMENT_FILES: Readonly<Record<string, string>> = {
  'settings.env': settingsText({ hostOf: () => '127.0.0.1', partitions: 12, replicas: 1 }),
  ...Object.fromEntries(
    [...DEPLOYED, PROVISION].map((process, index) => [`${process.name}.env`, ownText(process, PORTS.metrics + index)]),
  ),
};
