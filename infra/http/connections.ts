import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of a server, to be ended when it stops. */
export interface Connections {
  /** Whether the server is about to stop. */
  readonly ending: boolean;
  /**
   * Ends idle connections at once, and the others as soon as they are answered, at the latest after `deadlineMs`. Node's own
   * `close` leaves connections that never sent a byte, and once it was called no slow sender is cut any more.
   */
  end(deadlineMs: number): void;
}

interface Use {
  /** Requests that are not answered yet. */
  open: number;
  /** Bytes that had been read when the last answer was sent. */
  readBytes: number;
}

export function watchConnections(server: Server): Connections {
  const uses = new Map<Socket, Use>();
  let ending = false;

  const isIdle = (socket: Socket, { open, readBytes }: Use): boolean => open === 0 && socket.bytesRead === readBytes;

  server.on('connection', (socket) => {
    uses.set(socket, { open: 0, readBytes: 0 });
    socket.once('close', () => uses.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    const use = uses.get(socket);
    if (use === undefined) return;
    use.open += 1;
    response.once('close', () => {
      use.open -= 1;
      use.readBytes = socket.bytesRead;
      if (ending && use.open === 0) socket.destroySoon();
    });
  });

  return {
    get ending() {
      return ending;
    },
    end(deadlineMs) {
      ending = true;
      for (const [socket, use] of uses) if (isIdle(socket, use)) socket.destroy();
      const timer = setTimeout(() => {
        for (const socket of uses.keys()) socket.destroy();
      }, deadlineMs);
      timer.unref();
    },
  };
}
