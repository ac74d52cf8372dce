import type { Admin } from '#infra/kafka/client.ts';

/** An admin client that answers, once told to forget, for a group's offsets what it answered first, as a broker may. */
export function forgetful(admin: Admin): { admin: Admin; forget(): void } {
  let isForgetting = false;
  const first = new Map<string, Awaited<ReturnType<Admin['fetchOffsets']>>>();
  return {
    admin: {
      ...admin,
      async fetchOffsets(of) {
        const key = JSON.stringify(of);
        const earlier = first.get(key);
        if (isForgetting && earlier !== undefined) return earlier;
        const found = await admin.fetchOffsets(of);
        if (earlier === undefined) first.set(key, found);
        return found;
      },
    },
    forget() {
      isForgetting = true;
    },
  };
}

/** An admin client that answers for every group's offsets by one offset, as a broker may that has read few of them. */
export function early(admin: Admin, offset: number): Admin {
  return {
    ...admin,
    async fetchOffsets(of) {
      const found = await admin.fetchOffsets(of);
      return found.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition }) => ({ partition, offset: String(offset), metadata: '' })),
      }));
    },
  };
}
