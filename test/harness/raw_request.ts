import { connect } from 'node:net';

/** The whole answer to a request of just these lines, without a body; the connection is closed after it. */
export function sendLines(port: number, lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

/** The status in the first line of an answer. */
export const statusIn = (answer: string): number => Number(answer.split(' ')[1]);
