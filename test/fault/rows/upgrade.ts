import type { Row, RowContext } from '../row.ts';
import { provisionNow, type World } from '../world/fault_world.ts';
import { ROOT } from '../world/fleet.ts';

const REQUESTS_PER_SECOND = 25;
/** In the order of docs/operations.md: readers first. */
const STAGES = ['delivery.meta', 'delivery.webhook', 'warehouse', 'quota', 'identity', 'dedup'] as const;
const EDGES = ['edge.1', 'edge.2'] as const;

function earlierRoot({ special: { earlier } }: World): string {
  if (earlier === undefined) throw new Error('this world has no version before');
  return earlier.root;
}

/** Where events flow through it for a while, between two steps. */
async function someMore({ untilSent, ledger, events }: RowContext): Promise<void> {
  await untilSent(ledger.size() + events / 8);
}

/** Every process of the version before becomes one of this version, one after the other, readers first; both are there for a while. */
async function upgrade(context: RowContext): Promise<void> {
  const { fleet } = context.world;
  await provisionAnew(context);
  await fleet.restartFrom('control', ROOT);
  const beside: string[] = [];
  for (const stage of STAGES) beside.push(await fleet.replicate(stage, ROOT));
  await fleet.restartFrom(EDGES[0], ROOT);
  await someMore(context);
  for (const stage of STAGES) await fleet.restartFrom(stage, ROOT);
  for (const replica of beside) await fleet.stop(replica);
  await someMore(context);
  await fleet.restartFrom(EDGES[1], ROOT);
}

/** The same, back: writers first. What was provisioned stays. */
async function rollBack(context: RowContext): Promise<void> {
  const { fleet } = context.world;
  const root = earlierRoot(context.world);
  await fleet.restartFrom(EDGES[1], root);
  await someMore(context);
  await fleet.restartFrom(EDGES[0], root);
  const beside: string[] = [];
  const stages = STAGES.toReversed();
  for (const stage of stages) beside.push(await fleet.replicate(stage, root));
  await someMore(context);
  for (const stage of stages) await fleet.restartFrom(stage, root);
  for (const replica of beside) await fleet.stop(replica);
  await fleet.restartFrom('control', root);
}

const FROM_THE_VERSION_BEFORE = { place: 'earlier_version', requestsPerSecond: REQUESTS_PER_SECOND } as const;

/** The service is upgraded from the version before under load. */
export const UPGRADED: Row = {
  ...FROM_THE_VERSION_BEFORE,
  name: 'upgrade.forward',
  async fault(context) {
    await someMore(context);
    await upgrade(context);
    await someMore(context);
  },
};

/** An edge and a stage of the version before, of each kind in turn, are beside those of this one. */
export const EARLIER_BESIDE: Row = {
  ...FROM_THE_VERSION_BEFORE,
  name: 'upgrade.beside',
  before: makeNew,
  async fault(context) {
    const { fleet } = context.world;
    const root = earlierRoot(context.world);
    await fleet.restartFrom(EDGES[0], root);
    for (const stage of STAGES) {
      const replica = await fleet.replicate(stage, root);
      await context.untilSent(context.ledger.size() + context.events / 16);
      await fleet.stop(replica);
    }
    await fleet.restartFrom(EDGES[0], ROOT);
  },
};

/** The service goes back to the version before under load, in the reverse order, and to this one again. */
export const ROLLED_BACK: Row = {
  ...FROM_THE_VERSION_BEFORE,
  name: 'upgrade.back',
  before: makeNew,
  async fault(context) {
    await someMore(context);
    await rollBack(context);
    await someMore(context);
  },
};

/** As an operator's provisioning: what exists and is declared otherwise by now is told, and left as it is. */
async function provisionAnew({ world, say }: RowContext): Promise<void> {
  for (const line of await provisionNow(world.env)) say(`  MISMATCH (left as it is): ${line}`);
}

/** What a row of this place begins with that is run by itself. */
async function makeNew(context: RowContext): Promise<void> {
  const { fleet } = context.world;
  if (fleet.isFrom('control', ROOT)) return;
  await provisionAnew(context);
  for (const name of ['control', ...STAGES, ...EDGES])
    if (!fleet.isFrom(name, ROOT)) await fleet.restartFrom(name, ROOT);
}
