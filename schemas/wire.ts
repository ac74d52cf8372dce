/** Bytes before the Avro body in the Confluent wire format: a zero byte and the schema id, big-endian. */
export const WIRE_HEADER_BYTES = 5;

export type WireRead =
  | { ok: true; schemaId: number; body: Buffer }
  | { ok: false; code: 'wire_null' | 'wire_short' | 'wire_magic' };

/** Splits a record value in the Confluent wire format into schema id and Avro body (not copied). */
export function readWire(value: Buffer | null): WireRead {
  if (value === null) return { ok: false, code: 'wire_null' };
  if (value.length < WIRE_HEADER_BYTES) return { ok: false, code: 'wire_short' };
  if (value[0] !== 0) return { ok: false, code: 'wire_magic' };
  return { ok: true, schemaId: value.readInt32BE(1), body: value.subarray(WIRE_HEADER_BYTES) };
}

/** Puts the Confluent wire header before an Avro body. */
export function writeWire(schemaId: number, body: Buffer): Buffer {
  const out = Buffer.allocUnsafe(WIRE_HEADER_BYTES + body.length);
  out[0] = 0;
  out.writeInt32BE(schemaId, 1);
  body.copy(out, WIRE_HEADER_BYTES);
  return out;
}
