// A mail server on loopback: takes messages by SMTP, or refuses them as it is told to.

import { type AddressInfo, createServer, type Socket } from 'node:net';

interface TakenMail {
  to: readonly string[];
  /** Head and body as they were sent. */
  text: string;
  messageId: string;
}

/** What is answered in place of taking a message: at RCPT TO, or to the message itself; `silent`: nothing is, for ever. */
type MailRefusal = { at: 'rcpt' | 'data'; answer: string } | 'silent' | null;

export interface SmtpServer {
  readonly url: string;
  /** In the order in which they were taken. */
  readonly taken: TakenMail[];
  /** Connections that were begun. */
  readonly connections: number;
  refuse(refusal: MailRefusal): void;
  /** Ends the server with all connections, as if it had gone; `start` has it return at the same address. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** @param at The port; 0: any free one. */
export async function startSmtpServer(at = 0): Promise<SmtpServer> {
  const taken: TakenMail[] = [];
  const sockets = new Set<Socket>();
  let refusal: MailRefusal = null;
  let connections = 0;
  let port = at;

  function serve(socket: Socket): void {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const say = (line: string): void => void socket.write(`${line}\r\n`);
    let to: string[] = [];
    let isData = false;
    let buffered = '';

    function command(line: string): void {
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'EHLO' || verb === 'HELO') say('250 standin.test');
      else if (verb === 'RCPT' && typeof refusal === 'object' && refusal?.at === 'rcpt') say(refusal.answer);
      else if (verb === 'RCPT') {
        to.push(/<([^>]*)>/.exec(line)?.[1] ?? '');
        say('250 ok');
      } else if (verb === 'DATA') {
        isData = true;
        say('354 go on');
      } else if (verb === 'QUIT') socket.end('221 bye\r\n');
      else if (verb === 'MAIL' || verb === 'RSET' || verb === 'NOOP') {
        if (verb !== 'NOOP') to = [];
        say('250 ok');
      } else say('502 not known');
    }

    function message(text: string): void {
      isData = false;
      if (typeof refusal === 'object' && refusal?.at === 'data') {
        say(refusal.answer);
        return;
      }
      const messageId = /^Message-ID: (.*)$/im.exec(text)?.[1]?.trim() ?? '';
      taken.push({ to, text, messageId });
      say('250 taken');
    }

    if (refusal !== 'silent') say('220 standin.test ESMTP');
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      if (refusal === 'silent') return;
      buffered += chunk;
      for (;;) {
        const end = buffered.indexOf(isData ? '\r\n.\r\n' : '\r\n');
        if (end < 0) return;
        const text = buffered.slice(0, end);
        buffered = buffered.slice(end + (isData ? 5 : 2));
        if (isData) message(text);
        else command(text);
      }
    });
  }

  let server = createServer(serve);
  const listen = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        port = (server.address() as AddressInfo).port;
        resolve();
      });
    });
  await listen();
  return {
    url: `smtp://127.0.0.1:${port}`,
    taken,
    get connections() {
      return connections;
    },
    refuse: (next) => {
      refusal = next;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
    start() {
      server = createServer(serve);
      return listen();
    },
  };
}
