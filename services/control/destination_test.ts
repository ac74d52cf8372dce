import type { Static } from 'typebox';
import { TEST_SETTING, testEntry } from '#pipelines/delivery/test_event.ts';
import { destinationKey } from '#pipelines/settings/setting_address.ts';
import { destinationParams, type TestAnswer, testBody, testShape } from '#services/control_api/destination_shapes.ts';
import { nothing } from '#services/control_api/fields.ts';
import { done, type GatheredAnswer, type Route, refused, route, type Sources, type World } from './route.ts';
import { inSite } from './route_access.ts';
import type { Input } from './route_input.ts';

const EVENT = 'page_view';
const ID_BYTES = 8;

type Params = Static<typeof destinationParams>;
type Body = Static<typeof testBody>;

export const destinationTestRoute: Route = route({
  method: 'POST',
  path: '/v1/admin/sites/{site_id}/destinations/{name}/test',
  operationId: 'testDestination',
  access: inSite('destinations.change'),
  tag: 'Destinations',
  summary: 'Send one event that is marked as a test, as delivery would, and show what the platform answered',
  params: destinationParams,
  query: nothing,
  body: testBody,
  ifMatch: 'none',
  success: { status: 200, schema: testShape, description: 'What became of it; it is stored nowhere else' },
  errors: ['site_unknown', 'destination_unknown', 'settings_not_stored'],
  run: () => done([], () => ({ body: {} })),
  gather: sendTestEvent,
});

async function sendTestEvent(
  { params, body }: Input,
  { sendTest, note }: Sources,
  before: World,
): Promise<GatheredAnswer> {
  const { site_id: siteId, name } = params as Params;
  const { event = EVENT, test_event_code: code } = body as Body;
  if (before.view.table.site(siteId) === undefined) return refused('site_unknown');
  if (toTest(siteId, name, before) === null) return refused('destination_unknown');
  const world = await note(destinationKey(siteId, name), { test: event });
  if ('kind' in world) return world;
  const tested = toTest(siteId, name, world);
  if (tested === null) return refused('destination_unknown');
  const { site, destination, adapter } = tested;
  const takesCode = TEST_SETTING in adapter.schema.properties;
  const settings = { ...destination.settings, ...(takesCode && code !== undefined && { [TEST_SETTING]: code }) };
  const eventId = `test-${Buffer.from(world.randomBytes(ID_BYTES)).toString('hex')}`;
  const entry = testEntry({ siteId, eventId, name: event, nowMs: world.nowMs });
  const sent = await sendTest({ adapter, site, destination: { ...destination, settings }, entry });
  const { outcome, reason, detail, tookMs, answer = null } = sent;
  const as_test = (settings[TEST_SETTING] ?? '') !== '';
  const shown: TestAnswer = {
    event_id: eventId,
    event,
    outcome,
    reason,
    detail,
    took_ms: Math.round(tookMs),
    as_test,
    answer,
  };
  return { kind: 'answered', body: shown };
}

/** What a test event is sent with, as the settings are; null where there is no such destination. */
function toTest(siteId: string, name: string, { view: { table }, adapters }: World) {
  const [site, destination] = [table.site(siteId), table.destination(siteId, name)];
  const adapter = adapters.find((one) => one.name === name);
  return site === undefined || destination === undefined || adapter === undefined
    ? null
    : { site, destination, adapter };
}
