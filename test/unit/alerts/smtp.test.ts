import { afterEach, beforeEach, expect, it } from 'vitest';
import { createMailer, type Mailer } from '#infra/mail/smtp.ts';
import { type SmtpServer, startSmtpServer } from '#test/harness/smtp_server.ts';

const MAIL = { to: 'team@shop.example', subject: 'Alert: Čeština', text: 'Figure: 5\n', id: 'abc.mail' };

let server: SmtpServer;
let mailer: Mailer;
beforeEach(async () => {
  server = await startSmtpServer();
  mailer = createMailer(server.url, 'Alerts <alerts@svc.example>');
});
afterEach(async () => {
  mailer.close();
  await server.stop();
});

it('sends a message to one address, by an id that stays', async () => {
  expect(await mailer.send(MAIL)).toEqual({ kind: 'sent' });
  expect(await mailer.send(MAIL)).toEqual({ kind: 'sent' });
  expect(server.taken.map(({ to, messageId }) => [to, messageId])).toEqual(
    Array.from({ length: 2 }, () => [['team@shop.example'], '<abc.mail@svc.example>']),
  );
  expect(server.taken[0]?.text).toContain('Auto-Submitted: auto-generated');
});

it('sends to no second address, whatever stands in the first', async () => {
  await mailer.send({ ...MAIL, to: 'a@shop.example, b@shop.example' });
  expect(server.taken.flatMap(({ to }) => to)).not.toContain('b@shop.example');
});

it.each([
  [
    { at: 'rcpt', answer: '550 5.1.1 <team@shop.example> is not known' } as const,
    { kind: 'never', reason: 'smtp_550' },
  ],
  [{ at: 'rcpt', answer: '450 4.2.0 greylisted' } as const, { kind: 'again', reason: 'smtp_450' }],
  [{ at: 'data', answer: '554 5.7.1 refused' } as const, { kind: 'never', reason: 'smtp_554' }],
  [{ at: 'data', answer: '452 4.3.1 full' } as const, { kind: 'again', reason: 'smtp_452' }],
])('says of %o what it comes to, and nothing that holds the address', async (refusal, outcome) => {
  server.refuse(refusal);
  expect(await mailer.send(MAIL)).toEqual(outcome);
  expect(server.taken).toEqual([]);
});

it('tries later where the server is away', async () => {
  await server.stop();
  expect(await mailer.send(MAIL)).toMatchObject({ kind: 'again', reason: expect.stringMatching(/^smtp_e/) });
  await server.start();
  expect(await mailer.send(MAIL)).toEqual({ kind: 'sent' });
});
