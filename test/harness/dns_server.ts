import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export type DnsKind = 'TXT' | 'CNAME';

/** What a name server holds: records, each a list of strings; or how it refuses. */
export type DnsReply = readonly (readonly string[])[] | 'nxdomain' | 'nodata' | 'servfail' | 'silent';

export interface DnsServer {
  /** `address:port`. */
  address: string;
  close(): Promise<void>;
}

const TYPES: ReadonlyMap<number, DnsKind> = new Map([
  [5, 'CNAME'],
  [16, 'TXT'],
]);
const RCODES = { nxdomain: 3, servfail: 2, nodata: 0 } as const;
/** An answer, authoritative, with recursion desired and available. */
const FLAGS = 0x8580;
const TTL_S = 60;

/** A name server on UDP of the loopback, which answers as `lookUp` says; names come in lower case. */
export async function startDnsServer(lookUp: (name: string, kind: DnsKind) => DnsReply): Promise<DnsServer> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    const kind = TYPES.get(type);
    const reply = kind === undefined ? 'nodata' : lookUp(name.toLowerCase(), kind);
    if (reply !== 'silent') socket.send(response(query, end, type, reply), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    close: async () => {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function response(query: Buffer, end: number, type: number, reply: Exclude<DnsReply, 'silent'>): Buffer {
  const records = typeof reply === 'string' ? [] : reply;
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(FLAGS | (typeof reply === 'string' ? RCODES[reply] : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(12, end), ...records.map((strings) => recordOf(type, strings))]);
}

function recordOf(type: number, strings: readonly string[]): Buffer {
  const data = Buffer.concat(strings.map(type === 5 ? nameBytes : counted));
  const head = Buffer.alloc(12);
  // The name of the question, by a pointer to it.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(TTL_S, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function nameBytes(name: string): Buffer {
  return Buffer.concat([...name.split('.').map(counted), Buffer.alloc(1)]);
}

function counted(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
}
