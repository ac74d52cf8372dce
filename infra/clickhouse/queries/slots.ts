/**
 * The place of a digest among some, counted from 1; 0 where it is none of them. These are written once, as ClickHouse analyses a
 * SELECT anew wherever it is named.
 *
 * @param some A SELECT of digests in an order.
 * @param most How many they are at the most.
 */
export const slotOf = (digest: string, some: string, most: number): string =>
  `transform(${digest}, arrayResize((SELECT groupArray(*) FROM (${some})), ${most + 1}), arrayPushBack(range(1, ${most + 1}), 0), 0)`;
