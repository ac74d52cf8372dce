import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { FiredItem } from '#services/control_api/alerts.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { type SmtpServer, startSmtpServer } from '#test/harness/smtp_server.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const KILLS = 10;
const AWAY_MS = 60_000;
const LONG_MS = 600_000;
const EVENTS = 50;

let mail: SmtpServer;
let receiver: WebhookReceiver;
let site: TestSite;

beforeAll(async () => {
  mail = await startSmtpServer(inject('mailPort'));
  receiver = await startWebhookReceiver();
  site = await makeSite(service, { allowance: EVENTS });
  const events = Array.from({ length: EVENTS }, (_, at) => newEvent({ distinct_id: `buyer-${at}` }));
  expect((await postEvents(service.ready.edge, site.serverKey, events)).body).toMatchObject({ accepted: EVENTS });
}, LONG_MS);
afterAll(async () => {
  await site.close();
  await mail.stop();
  await receiver.close();
});

/** Fires as soon as it is looked at, as all of the month is used. */
const alert = (at: number): object => ({
  ...{ id: `used-${at}`, name: `Used ${at}`, kind: 'allowance', condition: { is: 'above', value: at } },
  channels: [
    { id: 'mail', kind: 'email', target: `team-${at}@shop.example` },
    { id: 'hook', kind: 'webhook', target: `${receiver.url}/hook` },
    { id: 'chat', kind: 'slack', target: `${receiver.url}/slack` },
  ],
});

const client = createControlClient(
  httpTransport(service.ready.control),
  readFileSync(service.ready.adminTokenFile, 'utf8').trim(),
);
const fired = (): Promise<FiredItem[]> => site.settings.run<FiredItem[]>('alert', 'fired', '--site', site.site);

const isSettled = (all: readonly FiredItem[]): boolean =>
  all.every(({ sends }) => sends.every(({ state }) => state === 'sent' || state === 'given_up'));

/** What arrived at each place, by its id. */
function arrived(): Map<string, number> {
  const slack = receiver.deliveries
    .filter(({ path }) => path === '/slack')
    .map(({ body }) => /Id: ([\w-]+)/.exec(body)?.[1] ?? '');
  const hook = receiver.deliveries
    .filter(({ path }) => path === '/hook')
    .map(({ headers }) => headers['webhook-id'] ?? '');
  const mails = mail.taken.map(({ messageId }) => messageId);
  const times = new Map<string, number>();
  for (const name of [...mails, ...hook, ...slack.map((id) => `${id}.chat`)])
    times.set(name, (times.get(name) ?? 0) + 1);
  return times;
}

const nameOf = (id: string, channel: string): string =>
  channel === 'mail' ? `<${id}.${channel}@svc.example>` : `${id}.${channel}`;

test('each alert is sent once, though its process is killed ten times and the mail server is away for a minute', {
  timeout: LONG_MS,
}, async () => {
  for (let at = 1; at <= KILLS; at++) {
    await client.send('POST', `/sites/${site.site}/alerts`, null, alert(at));
  }
  let before = await readyProcess(service, 'alerts');
  await until('the first', fired, (all) => all.length > 0, { timeoutMs: LONG_MS });
  await mail.stop();
  const returned = sleep(AWAY_MS).then(() => mail.start());
  for (let kill = 1; kill <= KILLS; kill++) {
    process.kill(before.pid, 'SIGKILL');
    before = await readyProcess(service, 'alerts', before);
    // Another moment of its work each time.
    await sleep(kill * 300);
  }
  await returned;
  const all = await until('all to be told', fired, (seen) => seen.length >= KILLS && isSettled(seen), {
    timeoutMs: LONG_MS,
  });
  expect(all.map(({ alert_id }) => alert_id).sort()).toEqual(
    Array.from({ length: KILLS }, (_, at) => `used-${at + 1}`).sort(),
  );
  const times = arrived();
  const wanted = all.flatMap(({ fired_id, sends }) =>
    sends.map((send) => ({ send, name: nameOf(fired_id, send.channel) })),
  );
  expect([...times.keys()].sort()).toEqual(wanted.map(({ name }) => name).sort());
  for (const { send, name } of wanted) {
    expect(send.state).toBe('sent');
    // Where a kill lost the answer, and nowhere else, there may be a second one, which is known as such by its id.
    if (!send.is_repeated) expect(times.get(name)).toBe(1);
  }
});
