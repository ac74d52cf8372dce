import { nothing } from '#services/control_api/fields.ts';
import { type StagesAnswer, stagesShape } from '#services/control_api/stage_shapes.ts';
import { done, type Route, route } from './route.ts';
import { inAll } from './route_access.ts';

const STAGES = ['dedup', 'quota', 'identity', 'warehouse'] as const;

/** Said with every answer: silence about a part must not look as if it were well. */
const NOT_SEEN = [
  'edge: how many requests it takes and refuses is in its /metrics',
  "each process's memory, restarts and errors are in its /metrics and its log",
];

export const stageRoute: Route = route({
  method: 'GET',
  path: '/v1/admin/stages',
  operationId: 'listStages',
  access: inAll('replays.read'),
  tag: 'Operations',
  summary: 'How far each stage is: what it has still to take, how old that is, how quickly it takes it',
  params: nothing,
  query: nothing,
  body: null,
  ifMatch: 'none',
  success: {
    status: 200,
    schema: stagesShape,
    description: 'The stages, in the order in which events go through them',
  },
  errors: ['stages_unavailable'],
  run: () => done([], () => ({ body: {} })),
  async gather(_input, { stages }, { view, nowMs }) {
    const enabled = view.table.destinations().filter((one) => one.enabled);
    const deliveries = [...new Set(enabled.map(({ name }) => `delivery.${name}`))].sort();
    const items = await stages.read([...STAGES, ...deliveries]);
    const body: StagesAnswer = { items, as_of: nowMs, not_seen: NOT_SEEN };
    return { kind: 'answered', body };
  },
});
