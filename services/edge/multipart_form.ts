export type MultipartRead =
  | { ok: true; fields: [name: string, value: string][] }
  | { ok: false; reason: 'too_many' | 'malformed' };

const MULTIPART = /^multipart\/form-data\b/i;

export const isMultipart = (type: string): boolean => MULTIPART.test(type);

/** The fields of a body of `multipart/form-data`, in the order in which they came; files are left out. */
export async function readMultipart(body: Buffer, type: string, partsMax: number): Promise<MultipartRead> {
  if (partsOf(body, type) > partsMax) return { ok: false, reason: 'too_many' };
  try {
    const form = await new Response(Uint8Array.from(body), { headers: { 'content-type': type } }).formData();
    return { ok: true, fields: [...form].filter((pair): pair is [string, string] => typeof pair[1] === 'string') };
  } catch {
    // What the reader says of a form that is none may quote it.
    return { ok: false, reason: 'malformed' };
  }
}

/** Counted before the form is taken apart. */
function partsOf(body: Buffer, type: string): number {
  const boundary = /boundary="?([^";]{1,70})/i.exec(type)?.[1];
  if (boundary === undefined) return 0;
  let parts = 0;
  for (let at = body.indexOf(boundary); at >= 0; at = body.indexOf(boundary, at + boundary.length)) parts += 1;
  return parts;
}
