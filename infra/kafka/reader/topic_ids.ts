import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { openCluster } from '#infra/kafka/cluster.ts';

/** Tells a topic from another one that was made under its name after it. */
export interface TopicIds {
  /** The cluster's id of a topic, for good; empty where the brokers give none (before Kafka 3.1). */
  of(topic: string): Promise<string>;
  close(): Promise<void>;
}

interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readUVarInt(): number;
  readUVarIntString(): string | null;
  readTaggedFields(): unknown;
  offset: number;
  buffer: Buffer;
}

const require = createRequire(import.meta.url);
const Encoder = require('kafkajs/src/protocol/encoder.js') as new () => { writeBuffer(buffer: Buffer): unknown };
const DecoderOfClient = require('kafkajs/src/protocol/decoder.js') as new (buffer: Buffer) => Decoder;
const { createErrorFromCode, failure } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode(code: number): Error;
  failure(code: number): boolean;
};

const METADATA = 3;
/** The first that answers with ids where topics are asked for by name; the client itself speaks version 6. */
const VERSION = 12;
const ID_BYTES = 16;

/** Asks over a connection of its own, by a request that the client (kafkajs 2.2.4) does not know. */
export async function openTopicIds(kafka: Kafka): Promise<TopicIds> {
  const cluster = await openCluster(kafka);
  return {
    async of(topic) {
      await cluster.refreshMetadataIfNecessary();
      const broker = await cluster.findControllerBroker();
      if ((broker.versions[METADATA]?.maxVersion ?? 0) < VERSION) return '';
      return broker.connectionPool.send({
        request: { apiKey: METADATA, apiVersion: VERSION, apiName: 'Metadata', encode: async () => requestFor(topic) },
        response: {
          decode: async (bytes: Buffer) => readId(new DecoderOfClient(bytes)),
          parse: async (id: string) => id,
        },
      });
    },
    close: () => cluster.disconnect(),
  };
}

/** The header's tagged fields, one topic by its name, made by nobody's asking, without rights, and the tagged fields. */
function requestFor(topic: string): unknown {
  const name = Buffer.from(topic);
  // A length is written as one byte below 128, else as two: names of topics have 249 characters at the most.
  const length = name.length + 1;
  const size = length < 0x80 ? [length] : [(length & 0x7f) | 0x80, length >> 7];
  const topics = Buffer.concat([Buffer.of(2), Buffer.alloc(ID_BYTES), Buffer.from(size), name, Buffer.of(0)]);
  return new Encoder().writeBuffer(Buffer.concat([Buffer.of(0), topics, Buffer.of(0, 0, 0)]));
}

function readId(from: Decoder): string {
  from.readTaggedFields();
  from.readInt32(); // throttling
  for (let left = from.readUVarInt() - 1; left > 0; left--) {
    from.readInt32(); // broker
    from.readUVarIntString();
    from.readInt32(); // port
    from.readUVarIntString();
    from.readTaggedFields();
  }
  from.readUVarIntString(); // cluster
  from.readInt32(); // controller
  from.readUVarInt(); // topics: the one that was asked for
  const code = from.readInt16();
  if (failure(code)) throw createErrorFromCode(code);
  from.readUVarIntString();
  return from.buffer.subarray(from.offset, from.offset + ID_BYTES).toString('base64url');
}
