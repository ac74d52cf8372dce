import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { messageId, sign } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { manyEntries } from './entries.ts';
import { answered, portsOf, WEBHOOK_SECRET, webhookJob } from './harness.ts';

const OTHER_SECRET = `whsec_${Buffer.from('a'.repeat(32)).toString('base64')}`;

/** The verifier takes only timestamps near the present. */
async function sentWith(secrets: Record<string, string>) {
  const ports = { ...portsOf(() => answered(200, '')), nowMs: () => Date.now() };
  const outcomes = await deliver(webhookJob({ secrets }), ports);
  return { outcomes, request: ports.requests[0] ?? expect.fail('nothing was sent') };
}

describe('the signature of a webhook', () => {
  it('equals the published vector', () => {
    const body = '{"test": 2432232314}';
    expect(sign(WEBHOOK_SECRET, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, body)).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it('is accepted by the standardwebhooks package', async () => {
    const { request, outcomes } = await sentWith({ secret: WEBHOOK_SECRET });
    const payload = new Webhook(WEBHOOK_SECRET).verify(request.body, request.headers);
    expect(payload).toMatchObject({ type: 'event', data: { event_id: 'event_0' } });
    expect(outcomes[0]?.outcome).toBe('delivered');
  });

  it('is accepted under the new and the old secret during a rotation', async () => {
    const { request } = await sentWith({ secret: OTHER_SECRET, secret_previous: WEBHOOK_SECRET });
    for (const secret of [OTHER_SECRET, WEBHOOK_SECRET]) {
      expect(new Webhook(secret).verify(request.body, request.headers)).toMatchObject({ type: 'event' });
    }
  });

  it('is refused by the package when the body was changed', async () => {
    const { request } = await sentWith({ secret: WEBHOOK_SECRET });
    const changed = request.body.replace('event_0', 'event_9');
    expect(() => new Webhook(WEBHOOK_SECRET).verify(changed, request.headers)).toThrow();
  });
});

describe('the webhook id', () => {
  it('is the same on every re-send of an event, and another for another event or site', async () => {
    const ports = portsOf(() => answered(500, ''));
    const job = webhookJob({ entries: manyEntries(2) });
    await deliver(job, ports);
    await deliver({ ...job, attempt: 2 }, ports);
    const ids = ports.requests.map((request) => request.headers['webhook-id']);
    expect(ids[0]).toBe(ids[2]);
    expect(ids[1]).toBe(ids[3]);
    expect(new Set(ids).size).toBe(2);
    expect(messageId('webhook', 'site_2', ['event_0'])).not.toBe(ids[0]);
  });

  it('is another of another webhook of the site: what its rules made of the event is another message', async () => {
    const ports = portsOf(() => answered(200, ''));
    const job = webhookJob({ entries: manyEntries(1) });
    await deliver(job, ports);
    await deliver({ ...job, destination: 'webhook-crm' }, ports);
    const [first, crm] = ports.requests.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body).id]);
    expect(first?.[0]).toBe(first?.[1]);
    expect(crm?.[0]).toBe(crm?.[1]);
    expect(crm?.[0]).not.toBe(first?.[0]);
    expect(first?.[0]).toBe(messageId('webhook', 'site_1', ['event_0']));
  });

  it('keeps apart ids that run into one another', () => {
    expect(messageId('webhook', 'a', ['bc'])).not.toBe(messageId('webhook', 'ab', ['c']));
    expect(messageId('webhook', 'a', ['b', 'c'])).not.toBe(messageId('webhook', 'a', ['bc']));
  });
});
