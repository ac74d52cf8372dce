import { expect, it } from 'vitest';
import { linesOf, slackBody, subjectOf, webhookBody } from '#pipelines/alerts/message.ts';
import { firedAlert, testAlert } from '#pipelines/alerts/sends.ts';
import { alertWith, figureAt, NOON_MS } from './alert_world.ts';

const context = {
  siteName: 'Shop',
  timeZone: 'Europe/Brussels',
  pageUrl: 'https://svc.example/dashboard/sites/shop/alerts',
};
const condition = { is: 'fell', percent: 40, against: 'day' } as const;
const alert = alertWith({ name: 'Orders\r\nBcc: all <@everyone>', condition });
const fired = firedAlert(
  'shop',
  alert,
  { id: 'abc', is: 'fired', figure: figureAt(0, 5, { base: 50 }), at: NOON_MS },
  '',
);

it('says what, by how much, when and where', () => {
  expect(linesOf(fired, context)).toEqual([
    'Condition: fell by more than 40% against the same hour a day before',
    'Figure: 5',
    'Compared with: 50',
    'Interval: 2027-03-01 13:00 (Europe/Brussels) to 2027-03-01 14:00',
    'Found: 2027-03-01 13:00 (Europe/Brussels)',
    'See https://svc.example/dashboard/sites/shop/alerts',
    'Id: abc',
  ]);
  expect(linesOf(testAlert('shop', alert, 't', NOON_MS), context)[0]).toBe('This is a test. Nothing has fired.');
});

it('lets no name break a line or mention a channel', () => {
  expect(subjectOf(fired, context)).toBe('[Shop] Alert: Orders Bcc: all <@everyone>');
  const body = JSON.parse(slackBody(fired, context)) as { text: string; blocks: { text: { type: string } }[] };
  expect(body.text).toContain('&lt;@everyone&gt;');
  expect(body.blocks.map(({ text }) => text.type)).toEqual(['plain_text', 'plain_text']);
});

it('tells programs by Standard Webhooks', () => {
  expect(JSON.parse(webhookBody(fired, 'abc.hook'))).toMatchObject({
    ...{ type: 'alert.fired', id: 'abc.hook', timestamp: '2027-03-01T12:00:00.000Z' },
    data: { site_id: 'shop', alert_id: 'orders', value: 5, base: 50, condition, interval: 'hour' },
  });
});
