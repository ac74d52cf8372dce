// Overlays of the base: for a small installation, for a large one, and for one whose stages grow with their lag.
import { TOPICS } from '#infra/kafka/topics.ts';
import { type SettingsOf, settingsOf } from './environment.ts';
import { BASE_SETTINGS, SETTINGS } from './kubernetes.ts';
import { type Manifest, NAMESPACE } from './manifest.ts';
import { type Yaml, yamlFile } from './yaml.ts';

const VERSION = '0.2.0';
const GROUP_PREFIX = 'svc';

/** What an overlay says otherwise than the base. */
function changed(settings: SettingsOf): string[] {
  const base = settingsOf(BASE_SETTINGS);
  return Object.entries(settingsOf(settings)).flatMap(([name, value]) =>
    base[name] === value ? [] : [`${name}=${value}`],
  );
}

type Part = { readonly [key: string]: Yaml };

function kustomization(base: string, parts: Part): Manifest {
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace: NAMESPACE,
    resources: [base, ...((parts['resources'] ?? []) as readonly string[])],
    ...Object.fromEntries(Object.entries(parts).filter(([name]) => name !== 'resources')),
  };
}

/** The registry that holds the image, and its version: to be replaced. */
const IMAGES = [{ name: 'event-ingest', newName: 'registry.example.com/event-ingest', newTag: VERSION }];

/** More partitions let more processes of a stage work: of dedup and identity one for each group of four. */
const SMALL: SettingsOf = { ...BASE_SETTINGS, partitions: 4, replicas: 1 };
const LARGE_PARTITIONS = 12;
const PARTITION_GROUP = 4;
const LARGE: SettingsOf = { ...BASE_SETTINGS, partitions: LARGE_PARTITIONS };

/** Not of the edge, whose number its autoscaler sets. */
export const LARGE_REPLICAS: Readonly<Record<string, number>> = {
  dedup: LARGE_PARTITIONS / PARTITION_GROUP,
  identity: LARGE_PARTITIONS / PARTITION_GROUP,
  quota: 2,
  warehouse: 2,
  replay: 2,
};

/** An edge is one thread: more of them share what one cannot do. */
const EDGE_AUTOSCALER: Manifest = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'edge' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'edge' },
    minReplicas: 3,
    maxReplicas: 20,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } }],
    behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
  },
};

function patchOf(name: string, ...operations: readonly Part[]): Part {
  return { target: { kind: 'Deployment', name }, patch: JSON.stringify(operations) };
}

const REQUESTS = '/spec/template/spec/containers/0/resources/requests';
const withCpu = (name: string, cpu: string): Part =>
  patchOf(name, { op: 'replace', path: `${REQUESTS}/cpu`, value: cpu });

/** The stages that may grow, by the topic whose lag says so, and how many of them find work. */
const GROWING: Readonly<Record<string, { topic: string; most: number }>> = {
  dedup: { topic: TOPICS.raw, most: LARGE_PARTITIONS / PARTITION_GROUP },
  identity: { topic: TOPICS.unique, most: LARGE_PARTITIONS / PARTITION_GROUP },
  warehouse: { topic: TOPICS.identified, most: LARGE_PARTITIONS / 2 },
};

/** Seldom down, as each change has a group share its partitions anew; never to none, and by records that take seconds. */
function scaledObject(name: string, { topic, most }: { topic: string; most: number }): Manifest {
  return {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: { name },
    spec: {
      scaleTargetRef: { name },
      pollingInterval: 30,
      minReplicaCount: 1,
      maxReplicaCount: most,
      advanced: {
        horizontalPodAutoscalerConfig: {
          behavior: {
            scaleUp: { stabilizationWindowSeconds: 120, policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }] },
            scaleDown: { stabilizationWindowSeconds: 1800, policies: [{ type: 'Pods', value: 1, periodSeconds: 600 }] },
          },
        },
      },
      triggers: [
        {
          type: 'kafka',
          metadata: {
            bootstrapServersFromEnv: 'KAFKA_BROKERS',
            consumerGroup: `${GROUP_PREFIX}.${name}`,
            topic,
            lagThreshold: '20000',
            offsetResetPolicy: 'earliest',
          },
        },
      ],
    },
  };
}

const OVERLAY = 'An example: copy it, and change the image, the settings and the numbers.';

export const SCALED_OBJECTS: readonly Manifest[] = Object.entries(GROWING).map(([name, of]) => scaledObject(name, of));

const KUSTOMIZATIONS: Readonly<Record<string, { about: string; manifest: Manifest }>> = {
  small: {
    about: 'One of each process, on one broker: up to some hundred events a second.',
    manifest: kustomization('../../base', {
      images: IMAGES,
      configMapGenerator: [{ name: SETTINGS, behavior: 'merge', literals: changed(SMALL) }],
    }),
  },
  large: {
    about: 'Several of each stage, edges by their CPU, and backups: thousands of events a second.',
    manifest: kustomization('../../base', {
      resources: ['edge_autoscaler.yaml'],
      components: ['../../components/backup'],
      images: IMAGES,
      configMapGenerator: [{ name: SETTINGS, behavior: 'merge', literals: ['LOG_LEVEL=info', ...changed(LARGE)] }],
      replicas: Object.entries(LARGE_REPLICAS).map(([name, count]) => ({ name, count })),
      patches: [
        withCpu('edge', '1'),
        withCpu('dedup', '500m'),
        withCpu('identity', '500m'),
        withCpu('warehouse', '500m'),
      ],
    }),
  },
  keda: {
    about:
      'The large one, whose dedup, identity and warehouse grow with their lag. It needs KEDA, which Kafka must let describe topics\nand groups; where Kafka asks for a login, give each trigger an authenticationRef.',
    manifest: kustomization('../large', {
      resources: ['scaled_objects.yaml'],
      // Else each apply would set the numbers back.
      patches: Object.keys(GROWING).map((name) => patchOf(name, { op: 'remove', path: '/spec/replicas' })),
    }),
  },
};

export const OVERLAYS: Readonly<Record<string, Manifest>> = Object.fromEntries(
  Object.entries(KUSTOMIZATIONS).map(([name, { manifest }]) => [name, manifest]),
);

export const OVERLAY_FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(KUSTOMIZATIONS).map(([name, { about, manifest }]) => [
      `${name}/kustomization.yaml`,
      yamlFile(`${about}\n${OVERLAY}`, manifest),
    ]),
  ),
  'large/edge_autoscaler.yaml': yamlFile('Needs the metrics server.', EDGE_AUTOSCALER),
  'keda/scaled_objects.yaml': yamlFile(
    'Groups begin with KAFKA_GROUP_PREFIX, and both groups and topics with KAFKA_TOPIC_PREFIX before that.',
    ...SCALED_OBJECTS,
  ),
};
