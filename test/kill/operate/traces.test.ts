import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CollectedSpan, startCollector } from '#test/harness/collector.ts';
import { newEvent, postBody, type SentEvent } from '#test/harness/ingest.ts';
import { type RunningService, startService } from '#test/harness/service.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { deliveredIds, startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const START_MS = 330_000;
const STOP_MS = 60_000;
const TRACED_MS = 120_000;
/** The span of whoever calls, which is told of to a collector of its own. */
const CALLER = '00f067aa0ba902b7';

let dataDir: string;
let collector: Awaited<ReturnType<typeof startCollector>>;
let receiver: WebhookReceiver;
let service: RunningService;
let site: TestSite;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'traces-'));
  collector = await startCollector();
  receiver = await startWebhookReceiver();
  // Nothing but what callers ask for.
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '0' };
  service = await startService(dataDir, { env, timeoutMs: START_MS });
  site = await makeSite(service, { webhookUrl: `${receiver.url}/hook/secret-token` });
}, START_MS + STOP_MS);
afterAll(async () => {
  await site.close();
  await service.stop();
  await receiver.close();
  await collector.close();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, STOP_MS);

/** Sends events in one request that says it is traced; resolves to the id of its trace. */
async function sendTraced(key: string, events: SentEvent[]): Promise<string> {
  const traceId = randomBytes(16).toString('hex');
  const traceparent = `00-${traceId}-${CALLER}-01`;
  const { status } = await postBody(service.ready.edge, key, JSON.stringify({ events }), { traceparent });
  expect(status).toBe(200);
  return traceId;
}

const spansOf = (traceId: string): CollectedSpan[] => collector.spans.filter((span) => span.traceId === traceId);
const say = ({ service: from, name }: CollectedSpan): string => `${from}: ${name}`;

/** Each span behind the one that it is a child of, as `child < parent`. */
function tree(traceId: string): string[] {
  const known = new Map(spansOf(traceId).map((span) => [span.spanId, say(span)]));
  known.set(CALLER, 'caller');
  return spansOf(traceId)
    .map((span) => `${say(span)} < ${known.get(span.parentSpanId) ?? 'missing'}`)
    .sort();
}

const WHOLE = [
  'svc-dedup: process events.raw < svc-edge: send events.raw',
  'svc-delivery.webhook: POST < svc-delivery.webhook: process events.identified',
  'svc-delivery.webhook: process events.identified < svc-identity: process events.unique',
  'svc-edge: POST /v1/ingest < caller',
  'svc-edge: send events.raw < svc-edge: POST /v1/ingest',
  'svc-identity: process events.unique < svc-dedup: process events.raw',
  'svc-quota: process quota.counts < svc-dedup: process events.raw',
  'svc-warehouse: INSERT event_rows < svc-identity: process events.unique',
];

test(
  'one trace leads from a request to its row and its delivery, beside what nobody has traced',
  async () => {
    const email = 'traced.person@example.com';
    const untraced = newEvent({ distinct_id: 'other' });
    const [traceId] = await Promise.all([
      sendTraced(site.serverKey, [newEvent({ distinct_id: 'traced', properties: { email } })]),
      postBody(service.ready.edge, site.serverKey, JSON.stringify({ events: [untraced] })),
    ]);
    const browsers = await sendTraced(site.browserKey, [newEvent({ distinct_id: 'browser' })]);
    await until(
      'the whole trace',
      () => tree(traceId),
      (found) => found.length >= WHOLE.length,
    );
    expect(tree(traceId)).toEqual(WHOLE);
    const call = spansOf(traceId).find(({ name }) => name === 'POST');
    expect(call?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'svc.destination': 'webhook',
      'svc.site': site.site,
    });
    await untilStored(service, site.site, 3);
    expect(spansOf(browsers)).toEqual([]);
    expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const secrets = [site.serverKey, 'secret-token', email, '127.0.0.1:', 'traced.person'];
    expect(secrets.filter((secret) => collector.bodies.some((body) => body.includes(secret)))).toEqual([]);
  },
  TRACED_MS,
);

test(
  'where a stage is killed spans may be missing, and none is wrong',
  async () => {
    const before = await readyProcess(service, 'identity');
    const event = newEvent({ distinct_id: 'killed' });
    const traceId = await sendTraced(site.serverKey, [event]);
    process.kill(before.pid, 'SIGKILL');
    await readyProcess(service, 'identity', before);
    await until(
      'the event is delivered',
      () => deliveredIds(receiver),
      (ids) => ids.includes(event.uuid),
    );
    const isEnded = (found: readonly string[]): boolean =>
      ['POST', 'INSERT'].every((step) => found.some((line) => line.includes(`: ${step} `)));
    await until('the ends of the trace', () => tree(traceId).map((line) => line.replace(' /v1/ingest', '')), isEnded);
    // What identity has done is told of twice where it was killed between its commit and the export of its spans; or never.
    const allowed = new Set([...WHOLE, ...WHOLE.map((line) => line.replace(/< svc-identity: .*/, '< missing'))]);
    expect(tree(traceId).filter((line) => !allowed.has(line))).toEqual([]);
  },
  TRACED_MS,
);

test(
  'without a collector events flow, and what is dropped is counted',
  async () => {
    await collector.close();
    const { metricsUrl } = await readyProcess(service, 'edge');
    const event = newEvent({ distinct_id: 'away' });
    await sendTraced(site.serverKey, [event]);
    await until(
      'the event is delivered',
      () => deliveredIds(receiver),
      (ids) => ids.includes(event.uuid),
    );
    const dropped = async (): Promise<number> => {
      const text = await (await fetch(metricsUrl)).text();
      return Number(/svc_trace_spans_dropped_total\{reason="export_failed".*\} (\d+)/.exec(text)?.[1]);
    };
    await until("the edge's spans are counted as dropped", dropped, (spans) => spans >= 2);
    await collector.open();
    const later = await sendTraced(site.serverKey, [newEvent({ distinct_id: 'back' })]);
    await until(
      'the whole trace',
      () => tree(later),
      (found) => found.length >= WHOLE.length,
    );
    expect(tree(later)).toEqual(WHOLE);
  },
  TRACED_MS,
);
