import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { CONTROL } from '#infra/config/control_config.ts';
import { EDGE } from '#infra/config/edge_config.ts';
import { variablesOf } from '#infra/config/environment.ts';
import { rightsOf } from '#infra/rights/process_rights.ts';
import { BACKUP, COMPONENT_FILES } from '#test/deploy/components.ts';
import { ENVIRONMENT_FILES, settingsOf } from '#test/deploy/environment.ts';
import { BASE, BASE_FILES, BASE_SETTINGS, HTTP_PATCH, POD_PATCH, SETTINGS } from '#test/deploy/kubernetes.ts';
import { ALL_LABELS, COMPONENT, type Manifest } from '#test/deploy/manifest.ts';
import { LARGE_REPLICAS, OVERLAY_FILES, OVERLAYS, SCALED_OBJECTS } from '#test/deploy/overlays.ts';
import { DEPLOYED, NAMES, PART_PORTS, PORTS, PROVISION } from '#test/deploy/processes.ts';

/** What the tests look at of a manifest; what a kind does not have is undefined. */
interface Container {
  name: string;
  args?: string[];
  image: string;
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  command?: string[];
  env?: { name: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
  ports?: { name: string; containerPort: number }[];
  resources?: { requests: Record<string, string>; limits: Record<string, string> };
  securityContext?: object;
}
interface Seen {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec: {
    selector?: { matchLabels: Record<string, string> };
    podSelector: { matchLabels: Record<string, string>; matchExpressions?: { key: string; values: string[] }[] };
    template: {
      metadata: { labels: Record<string, string> };
      spec: { containers: Container[]; terminationGracePeriodSeconds?: number };
    };
    egress?: { to?: { namespaceSelector?: object }[]; ports: { port: number | string }[] }[];
    replicas?: number;
    ports: { port: number; targetPort: string }[];
    scaleTargetRef: { name: string };
    minReplicaCount: number;
    maxReplicaCount: number;
    triggers: { metadata: { topic: string; consumerGroup: string } }[];
  };
}
const seen = (manifests: readonly Manifest[]): Seen[] => manifests as unknown as Seen[];
const BASE_SEEN = seen(Object.values(BASE).flat());
const ofKind = (kind: string): Seen[] => BASE_SEEN.filter((one) => one.kind === kind);
const namesOf = (list: readonly Seen[]): string[] => list.map(({ metadata }) => metadata.name).sort();
const containerOf = ({ spec }: Seen): Container => {
  const [container, ...others] = spec.template.spec.containers;
  if (container === undefined || others.length > 0) throw new Error('a pod has one container');
  return container;
};

const EVERY = DEPLOYED.map(({ name }) => name).sort();
const [patch] = seen([POD_PATCH]);
if (patch === undefined) throw new Error('no patch');

test('each process and each delivery has a Deployment and a budget for disruptions', () => {
  expect(namesOf(ofKind('Deployment'))).toEqual(EVERY);
  expect(namesOf(ofKind('PodDisruptionBudget'))).toEqual(EVERY);
  expect(namesOf(ofKind('Job'))).toEqual([PROVISION.name]);
});

describe.for([...ofKind('Deployment'), ...ofKind('Job')])('$kind $metadata.name', (manifest) => {
  const { name } = manifest.metadata;
  const container = containerOf(manifest);

  it('runs the process of its name, under labels of its own', () => {
    expect(container.args).toEqual([name]);
    expect(manifest.spec.template.metadata.labels).toEqual({ ...ALL_LABELS, [COMPONENT]: name });
    const selector = manifest.kind === 'Job' ? undefined : { matchLabels: { ...ALL_LABELS, [COMPONENT]: name } };
    expect(manifest.spec.selector).toEqual(selector);
  });

  it('refers to the settings, and to a Secret that deploy/environment has a file for', () => {
    expect(container.envFrom).toEqual([{ configMapRef: { name: SETTINGS } }, { secretRef: { name } }]);
    expect(ENVIRONMENT_FILES).toHaveProperty([`${name}.env`]);
  });

  it('has the container that the patch is for, and says what it takes', () => {
    expect(container.name).toBe(containerOf(patch).name);
    expect(container.image).toBe(containerOf(patch).image);
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.stringMatching(/^\d+m$/), memory: expect.stringMatching(/^\d+Mi$/) },
      limits: { memory: expect.stringMatching(/^\d+Mi$/) },
    });
  });
});

const SHUT = {
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    },
  ],
};

it.for([['every Deployment', POD_PATCH] as const, ['the Job', seen(BASE['provision.yaml'] ?? [])[0]] as const])(
  'shuts %s in',
  ([, manifest]) => {
    expect((manifest as unknown as Seen).spec.template.spec).toMatchObject(SHUT);
  },
);

test('pods are killed later than a process may take to stop', () => {
  const [http] = seen([HTTP_PATCH]);
  expect(patch.spec.template.spec.terminationGracePeriodSeconds).toBe(25);
  expect(http?.spec.template.spec).toMatchObject({
    terminationGracePeriodSeconds: 30,
    containers: [{ lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
  });
});

test('probes ask the port of metrics, and only readiness asks for the parts', () => {
  const container = containerOf(patch);
  expect(container.ports).toEqual([{ name: 'metrics', containerPort: PORTS.metrics }]);
  expect(container).toMatchObject({
    startupProbe: { httpGet: { path: '/metrics', port: 'metrics' } },
    livenessProbe: { httpGet: { path: '/metrics', port: 'metrics' } },
    readinessProbe: { httpGet: { path: '/ready', port: 'metrics' } },
    env: [{ name: 'METRICS_PORT', value: String(PORTS.metrics) }],
  });
});

test('ports agree with those that the processes listen on by default', () => {
  for (const name of ['edge', 'control']) {
    const listened = [...variablesOf(EDGE.properties), ...variablesOf(CONTROL.properties)];
    const port = listened.find(({ facts }) => facts.variable === `${name.toUpperCase()}_PORT`)?.facts.default;
    const deployment = ofKind('Deployment').find(({ metadata }) => metadata.name === name);
    const service = ofKind('Service').find(({ metadata }) => metadata.name === name);
    expect(deployment && containerOf(deployment).ports).toEqual([{ name: 'http', containerPort: port }]);
    expect(service?.spec.ports).toEqual([{ name: 'http', port, targetPort: 'http' }]);
    expect(service?.spec.selector).toEqual({ ...ALL_LABELS, [COMPONENT]: name });
  }
});

test('parts are reached at the ports that the settings name', () => {
  const { KAFKA_BROKERS = '', SCHEMA_REGISTRY_URL = '' } = settingsOf(BASE_SETTINGS);
  expect(Number(KAFKA_BROKERS.split(':').at(-1))).toBe(PART_PORTS.kafka);
  expect(Number(new URL(SCHEMA_REGISTRY_URL).port)).toBe(PART_PORTS.registry);
});

const policies = ofKind('NetworkPolicy');
const policyNamed = (name: string): Seen => {
  const found = policies.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`no policy ${name}`);
  return found;
};
const selectedBy = (name: string): string[] =>
  (policyNamed(name).spec.podSelector.matchExpressions ?? []).flatMap(({ values }) => values).sort();

test('policies select processes that there are', () => {
  const named = policies.flatMap(({ metadata }) => selectedBy(metadata.name));
  expect(named.filter((name) => name !== PROVISION.name && !EVERY.includes(name))).toEqual([]);
});

it.for(['redis', 'clickhouse'] as const)('lets those to %s that have rights there', (part) => {
  const entitled = DEPLOYED.flatMap(({ name, kind }) =>
    kind !== 'provision' && rightsOf(kind, NAMES, name.slice('delivery-'.length))[part] !== null ? [name] : [],
  );
  const also = part === 'clickhouse' ? [PROVISION.name] : [];
  expect(selectedBy(`to-${part}`)).toEqual([...entitled, ...also].sort());
});

test('the stages reach no platform, and nothing but the parts and DNS at all', () => {
  const stages = ['dedup', 'identity', 'quota', 'warehouse', 'replay'];
  expect(selectedBy('to-platforms').filter((name) => stages.includes(name))).toEqual([]);
  expect(selectedBy('to-mail')).toEqual(['alerts']);
  const elsewhere = policies.filter(
    ({ metadata, spec }) =>
      spec.egress !== undefined &&
      !['to-dns', 'to-platforms', 'to-mail', 'svc'].includes(metadata.name) &&
      !spec.egress.every(({ to }) => to?.every((one) => one.namespaceSelector !== undefined)),
  );
  expect(namesOf(elsewhere)).toEqual([]);
  expect(policyNamed('svc').spec.podSelector).toEqual({ matchLabels: { ...ALL_LABELS, [COMPONENT]: 'svc' } });
});

test('what Kustomize is to read is there', () => {
  const paths = (name: string, manifest: Manifest): string[] =>
    ((manifest['resources'] ?? []) as string[])
      .filter((path) => path.endsWith('.yaml'))
      .map((path) => `${name}/${path}`);
  expect(
    Object.entries(OVERLAYS)
      .flatMap(([name, one]) => paths(name, one))
      .filter((path) => !(path in OVERLAY_FILES)),
  ).toEqual([]);
  expect(Object.keys(BASE).filter((path) => !(path in BASE_FILES))).toEqual([]);
});

test('no base says how many, so that an autoscaler or an overlay can', () => {
  expect(ofKind('Deployment').filter(({ spec }) => spec.replicas !== undefined)).toEqual([]);
  expect(Object.keys(LARGE_REPLICAS).filter((name) => !EVERY.includes(name) || name === 'edge')).toEqual([]);
});

it.for(seen(SCALED_OBJECTS))(
  'scales $metadata.name by the lag of a topic that it reads, never to none',
  ({ metadata, spec }) => {
    const { name } = metadata;
    const [trigger] = spec.triggers;
    const process = DEPLOYED.find((one) => one.name === spec.scaleTargetRef.name);
    if (process === undefined || process.kind === 'provision') throw new Error(`no process ${name}`);
    const { kafka } = rightsOf(process.kind, NAMES);
    expect(kafka.reads).toContain(trigger?.metadata.topic);
    expect(trigger?.metadata.consumerGroup).toBe(`svc.${name}`);
    expect(spec.minReplicaCount).toBe(1);
    expect(Object.keys(LARGE_REPLICAS)).toContain(name);
    expect(OVERLAY_FILES['keda/kustomization.yaml']).toContain(
      `name: ${name}\n    patch: '[{"op":"remove","path":"/spec/replicas"}]'`,
    );
  },
);

const backups = BACKUP.filter(({ kind }) => kind === 'CronJob') as unknown as { spec: { jobTemplate: Seen } }[];
const [backup] = backups.map(({ spec }) => spec.jobTemplate);
if (backup === undefined) throw new Error('no backup');

test('a backup goes where provisioning may, with what it and control have a Secret for', () => {
  const container = containerOf(backup);
  const { template } = backup.spec;
  expect(template.metadata.labels).toEqual({ ...ALL_LABELS, [COMPONENT]: PROVISION.name });
  expect(template.spec).toMatchObject(SHUT);
  expect(container.envFrom).toEqual([{ configMapRef: { name: SETTINGS } }, { secretRef: { name: PROVISION.name } }]);
  const keys = (container.env ?? []).flatMap(({ valueFrom }) =>
    valueFrom === undefined ? [] : [valueFrom.secretKeyRef],
  );
  expect(keys.map(({ name, key }) => [name, key])).toEqual(
    ['SECRETS_KEYS', 'IDENTITY_SECRET', 'IDENTITY_KEY'].map((key) => ['control', key]),
  );
  for (const { key } of keys) expect(ENVIRONMENT_FILES['control.env']).toContain(`\n${key}=`);
  expect(COMPONENT_FILES['backup/kustomization.yaml']).toContain('backup.yaml');
});

/** Runs what a backup's container does, where each of these commands of `svc` fails; resolves to its status and what was asked for. */
function backUp(failing: readonly string[], clickhouse: string): { status: number | null; asked: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const failures = failing.map((words) => `case "$*" in *"${words}"*) exit 1;; esac`);
  const runner = join(folder, 'run.sh');
  writeFileSync(runner, [`echo "$@" >> ${folder}/asked`, ...failures].join('\n'));
  const script = (containerOf(backup as Seen).command?.[2] ?? '').replace('/app/deploy/run.sh', runner);
  const env = { PATH: '/usr/bin:/bin', BACKUP_CLICKHOUSE: clickhouse, BACKUP_DAYS: '30' };
  const { status } = spawnSync('/bin/sh', ['-c', script], { env });
  return { status, asked: readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n') };
}

const PRUNE = 'svc backup prune /backups --days 30';
const BUCKET = "S3(backups, 'DAY/{shard}')";
const NAME = /\d{4}-\d\d-\d\d-\d{6}/;

test.each<[string, string[], string, number, string[]]>([
  [
    'makes room, and one of the night',
    [],
    BUCKET,
    0,
    [PRUNE, "svc backup create /backups/NAME --clickhouse S3(backups, 'NAME/{shard}')"],
  ],
  ['goes without ClickHouse', [], '', 0, [PRUNE, 'svc backup create /backups/NAME']],
  [
    'keeps what Kafka alone has where ClickHouse cannot be backed up, and fails',
    ['--clickhouse'],
    BUCKET,
    1,
    [
      PRUNE,
      "svc backup create /backups/NAME --clickhouse S3(backups, 'NAME/{shard}')",
      'svc backup create /backups/NAME-topics',
    ],
  ],
  ['makes one where nothing could be deleted, and fails', ['prune'], '', 1, [PRUNE, 'svc backup create /backups/NAME']],
])('a backup %s', (_, failing, clickhouse, status, asked) => {
  const made = backUp(failing, clickhouse);
  const name = NAME.exec(made.asked[1] ?? '')?.[0] ?? '';
  expect({ status: made.status, asked: made.asked }).toEqual({
    status,
    asked: asked.map((line) => line.replaceAll('NAME', name)),
  });
});
