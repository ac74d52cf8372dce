// The image: the script that starts each process by its name, with the options of Node that `npm start` gives it.
import {
  alertsSpec,
  controlSpec,
  deliverySpecs,
  erasureSpec,
  processSpecs,
  replaySpec,
} from '#services/local/start/processes.ts';
import type { ProcessSpec } from '#services/local/start/supervisor.ts';
import { DEPLOYED } from './processes.ts';

const PORTS = { edge: 0, control: 0, metaStandin: 0, webhookStandin: 0 };
const SPECS: readonly ProcessSpec[] = [
  ...processSpecs({}, PORTS, ''),
  controlSpec({}, PORTS),
  replaySpec({}),
  erasureSpec({}),
  alertsSpec({}),
  ...deliverySpecs({}, ['meta']),
];

/** The words behind `node` that start a process of `npm start`. */
export function wordsOf(name: string): string[] {
  const spec = SPECS.find((one) => one.name === name);
  if (spec === undefined) throw new Error(`npm start has no process ${name}`);
  return [...(spec.nodeArgs ?? []), spec.file];
}

const KINDS = [...new Set(DEPLOYED.map(({ kind }) => kind))].filter((kind) => kind !== 'delivery').sort();

/** A program of Node that asks a route of the process's own server, and says by its exit status whether the answer was 200. */
const asks = (path: string): string =>
  `set -- -e "fetch('http://127.0.0.1:$METRICS_PORT${path}').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"`;

export const RUN_SCRIPT = `#!/bin/sh
# Runs one process of the service in the foreground: run.sh NAME. It takes the place of this shell, so that signals reach it.
# Made by \`npm run docs:configuration\` of what \`npm start\` runs.
set -eu
cd "$(dirname "$0")/.."
# Node 24 of the npm package, where that is installed; an image has its own.
PATH="$PWD/node_modules/.bin:$PATH"
name=\${1:-}
case "$name" in
${KINDS.map((kind) => `  ${kind}) set -- ${wordsOf(kind).join(' ')} ;;`).join('\n')}
  delivery) set -- ${wordsOf('delivery.meta').join(' ')} ;;
  delivery-*)
    export DELIVERY_DESTINATION="\${name#delivery-}"
    set -- ${wordsOf('delivery.meta').join(' ')}
    ;;
  provision) set -- services/provision/main.ts ;;
  svc)
    shift
    set -- services/cli/main.ts "$@"
    ;;
  # Whether a process answers, and whether it does its work: while a part is away it is alive, but not ready.
  alive) ${asks('/metrics')} ;;
  ready) ${asks('/ready')} ;;
  *)
    echo "usage: run.sh ${[...KINDS, 'delivery-DESTINATION', 'provision', 'svc', 'alive', 'ready'].join('|')}" >&2
    exit 2
    ;;
esac
exec node "$@"
`;
