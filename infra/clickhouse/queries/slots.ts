/**
 * The place of a digest among some, counted from 1; 0 where it is none of them.
 *
 * Named once, as a SELECT that stands in a statement twice is analysed twice.
 *
 * @param some A SELECT of digests in an order.
 */
export const slotOf = (digest: string, some: string): string =>
  `transform(${digest}, (SELECT arrayPushBack(groupArray(*), 0) FROM (${some})) AS known, arrayPushBack(arrayPopBack(arrayEnumerate(known)), 0), 0)`;
