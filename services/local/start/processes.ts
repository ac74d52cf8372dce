import type { ProcessSpec } from '#services/local/supervisor/supervisor.ts';

export interface LocalPorts {
  edge: number;
  control: number;
  metaStandin: number;
  webhookStandin: number;
}

/**
 * Memory of the edge, which saturates a core when it is busy. A larger young generation, as most of a request's objects die
 * before they are ever moved; room for Kafka's buffers before the first full collection; and collections on the
 * process's own thread, as helpers beside it cost a fifth more CPU for the same requests (1.9 s per million events).
 */
export const EDGE_NODE_ARGS = ['--max-semi-space-size=32', '--initial-old-space-size=256', '--single-threaded-gc'];

/**
 * Memory of the stages. They hold little, but pass much through buffers outside the heap, and by default each 64 MB of those
 * make V8 collect the whole heap: more full collections than young ones, and a third of dedup's and identity's CPU time. Counted
 * with the heap's own limit, which is five times what lives, they are collected with the young generation. On the process's
 * own thread, as for the edge. At 8,000 events/s: dedup 24.9 -> 17 CPU seconds per million events, identity 23.8 -> 14.5.
 */
const STAGE_NODE_ARGS = [
  '--max-semi-space-size=32',
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=400',
  '--single-threaded-gc',
];

/** The process that settings are changed through. */
export function controlSpec(env: Readonly<Record<string, string>>, ports: LocalPorts): ProcessSpec {
  return {
    name: 'control',
    file: 'services/control/main.ts',
    env: { CONTROL_EDGE_URL: `http://127.0.0.1:${ports.edge}`, ...env, CONTROL_PORT: String(ports.control) },
  };
}

/** The pages of the demo shop, which carry the tag of an edge with a browser key. */
export function shopSpec(
  env: Readonly<Record<string, string>>,
  port: number,
  tag: { edge: string; key: string },
): ProcessSpec {
  const args = ['--port', String(port), '--edge', tag.edge, '--key', tag.key];
  return { name: 'shop', file: 'services/local/shop/main.ts', args, env };
}

/** The other processes but for the deliveries, and the stand-in platforms the demo sites deliver to. */
export function processSpecs(env: Readonly<Record<string, string>>, ports: LocalPorts, dataDir: string): ProcessSpec[] {
  return [
    {
      name: 'standin',
      file: 'services/local/platforms/main.ts',
      args: [
        '--meta-port',
        String(ports.metaStandin),
        '--webhook-port',
        String(ports.webhookStandin),
        '--state-dir',
        `${dataDir}/standin`,
      ],
      env,
    },
    {
      name: 'edge',
      file: 'services/edge/main.ts',
      nodeArgs: EDGE_NODE_ARGS,
      env: { ...env, EDGE_PORT: String(ports.edge) },
    },
    { name: 'dedup', file: 'services/dedup/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
    { name: 'quota', file: 'services/quota/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
    { name: 'identity', file: 'services/identity/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
    { name: 'warehouse', file: 'services/warehouse/main.ts', nodeArgs: STAGE_NODE_ARGS, env },
  ];
}

/** The process that carries replays out. */
export function replaySpec(env: Readonly<Record<string, string>>): ProcessSpec {
  return { name: 'replay', file: 'services/replay/main.ts', env };
}

/** The delivery processes of destinations. */
export function deliverySpecs(env: Readonly<Record<string, string>>, destinations: readonly string[]): ProcessSpec[] {
  return destinations.map((destination) => ({
    name: `delivery.${destination}`,
    file: 'services/delivery/main.ts',
    env: { ...env, DELIVERY_DESTINATION: destination },
  }));
}
