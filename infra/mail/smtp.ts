// Sends messages by the operator's mail server.

import { createTransport } from 'nodemailer';
import type { SendOutcome } from '#pipelines/alerts/sends.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** The same whenever it is sent again, so that a copy is known as one. */
  id: string;
}

export type Mailer = ReturnType<typeof createMailer>;

const CONNECT_MS = 10_000;
/** A server looks a message over before it takes it. */
const SILENT_MS = 60_000;
const SMTP_ERROR_MIN = 400;
const SMTP_PERMANENT_MIN = 500;

/** What the server says of who is written to, and of what is sent: another try would be answered the same. */
const OF_MESSAGE: ReadonlySet<string> = new Set(['RCPT TO', 'DATA']);

/**
 * A connection for each message: there are few, and a server that is away is noticed when one is sent.
 *
 * @param url `smtp://` or, with TLS from the beginning, `smtps://`.
 * @param from The sender's address, maybe with a name.
 */
export function createMailer(url: string, from: string) {
  const transport = createTransport({
    url,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = /@([\w.-]+)/.exec(from)?.[1] ?? 'localhost';
  return {
    /** Never rejects. Answers no text of the server's: it may hold the address. */
    async send({ to, subject, text, id }: Mail): Promise<SendOutcome> {
      try {
        await transport.sendMail({
          from,
          // As an object it is one address, whatever stands in it.
          to: { name: '', address: to },
          ...{ subject, text, messageId: `<${id}@${domain}>` },
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        });
        return { kind: 'sent' };
      } catch (error) {
        return outcomeOf(error);
      }
    },
    close: (): void => transport.close(),
  };
}

interface SmtpError {
  code?: string;
  command?: string;
  responseCode?: number;
}

/** A refused sign-in, or a server that is away, may be mended; a mailbox that is not there is not. */
function outcomeOf(error: unknown): SendOutcome {
  const { code = 'unknown', command = '', responseCode = 0 } = error as SmtpError;
  const reason = responseCode >= SMTP_ERROR_MIN ? `smtp_${responseCode}` : `smtp_${code.toLowerCase()}`;
  return responseCode >= SMTP_PERMANENT_MIN && OF_MESSAGE.has(command)
    ? { kind: 'never', reason }
    : { kind: 'again', reason };
}
