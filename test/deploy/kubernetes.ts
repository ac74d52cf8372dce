// The base for Kustomize: a Deployment of each process, with what all have in common in one patch, and the Job that provisions.
import { type SettingsOf, settingsText } from './environment.ts';
import { ALL_LABELS, COMPONENT, labelsOf, type Manifest, NAMESPACE } from './manifest.ts';
import { POLICIES, POLICIES_ABOUT } from './network_policies.ts';
import { DEPLOYED, type DeployedProcess, httpPortOf, PORTS, PROVISION } from './processes.ts';
import { type Yaml, yamlFile } from './yaml.ts';

const IMAGE = 'event-ingest';
export const SETTINGS = 'settings';
/** Of the one container of each pod, so that patches find it. */
const CONTAINER = 'process';

/** Seconds: a process ends within 20, and is killed after 25 (docs/operations.md). */
const STOP_S = 25;
/** How long after a pod is to end requests may still be sent to it. */
const DRAIN_S = 5;

/** The service never writes to its file system. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

export const POD_SECURITY = {
  automountServiceAccountToken: false,
  // Else a Service called edge would set EDGE_PORT, and one called kafka KAFKA_PORT.
  enableServiceLinks: false,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 1000,
    runAsGroup: 1000,
    seccompProfile: { type: 'RuntimeDefault' },
  },
};

const asks = (path: string) => ({ httpGet: { path, port: 'metrics' } });

/** What every Deployment has: merged into each by Kustomize. */
export const POD_PATCH: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'every' },
  spec: {
    revisionHistoryLimit: 3,
    // Its group has settled, and what waited meanwhile is read, before the next one is ended.
    minReadySeconds: 10,
    // A version that does not get ready takes the place of none that works.
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: {
        annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': String(PORTS.metrics) },
      },
      spec: {
        ...POD_SECURITY,
        terminationGracePeriodSeconds: STOP_S,
        topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: ALL_LABELS },
          matchLabelKeys: [COMPONENT],
        })),
        containers: [
          {
            name: CONTAINER,
            image: IMAGE,
            ports: [{ name: 'metrics', containerPort: PORTS.metrics }],
            // A Secret may hold the port that the process has on a host of many.
            env: [{ name: 'METRICS_PORT', value: String(PORTS.metrics) }],
            startupProbe: { ...asks('/metrics'), periodSeconds: 2, failureThreshold: 30 },
            // Only whether it answers: Kafka's outage, or hours of rebuilding dedup's keys, must not kill it.
            livenessProbe: { ...asks('/metrics'), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
            readinessProbe: { ...asks('/ready'), periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 2 },
            securityContext: CONTAINER_SECURITY,
          },
        ],
      },
    },
  },
};

/** What those have that callers reach over HTTP. */
export const HTTP_PATCH: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'every' },
  spec: {
    template: {
      spec: {
        terminationGracePeriodSeconds: STOP_S + DRAIN_S,
        // It goes on answering until every proxy knows that the pod ends.
        containers: [{ name: CONTAINER, lifecycle: { preStop: { sleep: { seconds: DRAIN_S } } } }],
      },
    },
  },
};

export function containerOf(process: DeployedProcess): { readonly [key: string]: Yaml } {
  const { name, memoryMiB, cpuMillis } = process;
  const port = httpPortOf(process);
  return {
    name: CONTAINER,
    image: IMAGE,
    args: [name],
    envFrom: [{ configMapRef: { name: SETTINGS } }, { secretRef: { name } }],
    ...(port === null ? {} : { ports: [{ name: 'http', containerPort: port }] }),
    resources: {
      requests: { cpu: `${cpuMillis}m`, memory: `${memoryMiB.request}Mi` },
      // No limit of CPU: what is left over goes into catching up.
      limits: { memory: `${memoryMiB.limit}Mi` },
    },
  };
}

function deploymentOf(process: DeployedProcess): Manifest {
  const labels = labelsOf(process);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: process.name, labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [containerOf(process)] } },
    },
  };
}

/** One pod at a time may be taken away, and one that waits for something at any time: a node can always be emptied. */
function disruptionBudgetOf(process: DeployedProcess): Manifest {
  const labels = labelsOf(process);
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: process.name, labels },
    spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels: labels } },
  };
}

function servicesOf(process: DeployedProcess): Manifest[] {
  const port = httpPortOf(process);
  if (port === null) return [];
  const labels = labelsOf(process);
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: process.name, labels },
      spec: { selector: labels, ports: [{ name: 'http', port, targetPort: 'http' }] },
    },
  ];
}

const manifestsOf = (process: DeployedProcess): Manifest[] => [
  deploymentOf(process),
  ...servicesOf(process),
  disruptionBudgetOf(process),
];

/** By exit status 3 it says that something differs and was left as it is: others may run. */
const PROVISION_COMMAND = {
  command: ['/bin/sh', '-c', '/bin/sh /app/deploy/run.sh "$0" || test $? -eq 3'],
};

/** Gone ten minutes after it ended: a Job cannot be changed, so that the next version could not be applied beside it. */
const PROVISION_JOB: Manifest = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: PROVISION.name, labels: labelsOf(PROVISION) },
  spec: {
    backoffLimit: 4,
    activeDeadlineSeconds: 3600,
    ttlSecondsAfterFinished: 600,
    template: {
      metadata: { labels: labelsOf(PROVISION) },
      spec: {
        ...POD_SECURITY,
        restartPolicy: 'Never',
        containers: [{ ...containerOf(PROVISION), ...PROVISION_COMMAND, securityContext: CONTAINER_SECURITY }],
      },
    },
  },
};

const NAMESPACE_MANIFEST: Manifest = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};

const isDelivery = ({ kind }: DeployedProcess): boolean => kind === 'delivery';

/** The manifests of the base by their files. */
export const BASE: Readonly<Record<string, readonly Manifest[]>> = {
  'namespace.yaml': [NAMESPACE_MANIFEST],
  'provision.yaml': [PROVISION_JOB],
  ...Object.fromEntries(
    DEPLOYED.filter((process) => !isDelivery(process)).map((process) => [`${process.name}.yaml`, manifestsOf(process)]),
  ),
  'deliveries.yaml': DEPLOYED.filter(isDelivery).flatMap(manifestsOf),
  'network_policies.yaml': POLICIES,
};

export const BASE_SETTINGS: SettingsOf = { hostOf: (part) => `${part}.${part}.svc`, partitions: 12, replicas: 3 };

const BASE_KUSTOMIZATION: Manifest = {
  apiVersion: 'kustomize.config.k8s.io/v1beta1',
  kind: 'Kustomization',
  namespace: NAMESPACE,
  resources: Object.keys(BASE),
  configMapGenerator: [{ name: SETTINGS, envs: ['settings.env'] }],
  patches: [
    { path: 'pod.patch.yaml', target: { kind: 'Deployment' } },
    { path: 'http.patch.yaml', target: { kind: 'Deployment', name: 'edge|control' } },
  ],
};

export const MADE = 'Made by `npm run docs:configuration`: change test/deploy, or patch it in an overlay.';

export const BASE_FILES: Readonly<Record<string, string>> = {
  'kustomization.yaml': yamlFile(
    `All processes, for an overlay to build on (../overlays). Kubernetes 1.30 or newer.\n\n${MADE}`,
    BASE_KUSTOMIZATION,
  ),
  'settings.env': settingsText(BASE_SETTINGS),
  'pod.patch.yaml': yamlFile(MADE, POD_PATCH),
  'http.patch.yaml': yamlFile(MADE, HTTP_PATCH),
  ...Object.fromEntries(
    Object.entries(BASE).map(([file, manifests]) => [
      file,
      yamlFile(manifests === POLICIES ? `${POLICIES_ABOUT}\n\n${MADE}` : MADE, ...manifests),
    ]),
  ),
};
