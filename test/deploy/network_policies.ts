// Who may talk to whom in Kubernetes: made of the same rights as the users of Kafka, Redis and ClickHouse. What no policy allows is denied.
import { ALL_LABELS, COMPONENT, labelsOf, type Manifest } from './manifest.ts';
import { DEPLOYED, type DeployedProcess, PART_PORTS, type Part, PORTS, PROVISION } from './processes.ts';
import type { Yaml } from './yaml.ts';

type Rule = { readonly [key: string]: Yaml };

const namespace = (name: string): Rule => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
});

const tcp = (...ports: readonly (number | string)[]): Rule[] => ports.map((port) => ({ protocol: 'TCP', port }));

const ofProcesses = (processes: readonly DeployedProcess[]): Rule => ({
  matchLabels: ALL_LABELS,
  matchExpressions: [{ key: COMPONENT, operator: 'In', values: processes.map(({ name }) => name) }],
});

function policy(name: string, spec: Rule & { podSelector: Rule; policyTypes: readonly string[] }): Manifest {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name }, spec };
}

const ingress = (name: string, podSelector: Rule, ...rules: readonly Rule[]): Manifest =>
  policy(name, { podSelector, policyTypes: ['Ingress'], ingress: rules });

const egress = (name: string, podSelector: Rule, ...rules: readonly Rule[]): Manifest =>
  policy(name, { podSelector, policyTypes: ['Egress'], egress: rules });

const ALL = [...DEPLOYED, PROVISION];
const ofKinds = (...kinds: readonly DeployedProcess['kind'][]): Rule =>
  ofProcesses(DEPLOYED.filter(({ kind }) => kinds.includes(kind)));

const SENTINEL_PORT = 26_379;

const toPart = (part: Part): Manifest =>
  egress(`to-${part}`, ofProcesses(ALL.filter(({ parts }) => parts.includes(part))), {
    to: [namespace(part)],
    ports: tcp(PART_PORTS[part], ...(part === 'redis' ? [SENTINEL_PORT] : [])),
  });

/** Addresses that are of no platform: of clusters, hosts and their metadata services. */
const INSIDE_V4 = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];
const INSIDE_V6 = ['::1/128', 'fc00::/7', 'fe80::/10', '64:ff9b::/96'];

const PLATFORMS: Rule = {
  to: [{ ipBlock: { cidr: '0.0.0.0/0', except: INSIDE_V4 } }, { ipBlock: { cidr: '::/0', except: INSIDE_V6 } }],
  ports: tcp(443),
};

/** Somebody's pod with the commands of `svc`. */
const SVC: Rule = { matchLabels: labelsOf({ name: 'svc' }) };

export const POLICIES: readonly Manifest[] = [
  policy('deny', { podSelector: { matchLabels: ALL_LABELS }, policyTypes: ['Ingress', 'Egress'] }),
  egress('to-dns', { matchLabels: ALL_LABELS }, { ports: [{ protocol: 'UDP', port: 53 }, ...tcp(53)] }),
  ...(Object.keys(PART_PORTS) as Part[]).map(toPart),
  // The edge fetches vendors' scripts, control signs people in and sends test events, deliveries deliver, erasure and alerts tell webhooks.
  egress('to-platforms', ofKinds('edge', 'control', 'delivery', 'erasure', 'alerts'), PLATFORMS),
  // The operator's own mail server may be anywhere.
  egress('to-mail', ofKinds('alerts'), { ports: tcp(25, 465, 587) }),
  // A collector of traces, where one is set.
  egress('to-collector', { matchLabels: ALL_LABELS }, { to: [namespace('monitoring')], ports: tcp(4318) }),
  ingress('to-edge', ofKinds('edge'), { ports: tcp('http') }),
  ingress('to-control', ofKinds('control'), { from: [namespace('ingress'), { podSelector: SVC }], ports: tcp('http') }),
  egress('svc', SVC, { to: [{ podSelector: ofKinds('control') }], ports: tcp('http') }),
  ingress('to-metrics', { matchLabels: ALL_LABELS }, { from: [namespace('monitoring')], ports: tcp(PORTS.metrics) }),
];

export const POLICIES_ABOUT = `Parts are reached in namespaces of their names; control from the namespace ingress and by pods
whose app.kubernetes.io/component is svc, metrics from the namespace monitoring.
For a part outside of the cluster, patch the policy to-PART in an overlay:

  patches:
    - target: { kind: NetworkPolicy, name: to-kafka }
      patch: '[{ "op": "replace", "path": "/spec/egress/0/to", "value": [{ "ipBlock": { "cidr": "10.1.2.0/24" } }] }]'

Webhooks and providers of sign-in at other ports than 443 need theirs in to-platforms.`;
