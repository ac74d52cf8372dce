import type { DocumentedResponse } from '#pipelines/openapi/document.ts';
import { EDGE_ERRORS, type EdgeErrorCode } from './errors.ts';
import { errorShape } from './openapi_shapes.ts';

/** One response for each status, naming the codes it may carry. */
export function failures(codes: readonly EdgeErrorCode[]): DocumentedResponse[] {
  const byStatus = Map.groupBy(codes, (code) => EDGE_ERRORS[code].status);
  return [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, group]) => ({
      status,
      description: group.map((code) => `\`${code}\`: ${EDGE_ERRORS[code].message}`).join('\n\n'),
      schema: errorShape,
      ...(status === 503 ? { headers: { 'Retry-After': 'Seconds to wait' } } : {}),
    }));
}
