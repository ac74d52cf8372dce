/** A turn that was taken. To end it twice is to end it once. */
export interface BodyTurn {
  end(): void;
}

/**
 * Turns of bodies to be read. What is read of a body waits for Redis to admit it, in some hundred objects an event: more than so many
 * bytes at once, and collecting garbage costs more than anything else of an event, while bodies themselves cost next to nothing
 * there. A body beyond all that goes alone.
 *
 * @param bytesMax Of bodies that are read at once.
 */
export function createBodyTurns(bytesMax: number) {
  let taken = 0;
  const waiting: { bytes: number; begin(): void }[] = [];

  const isRoomFor = (bytes: number): boolean => taken === 0 || taken + bytes <= bytesMax;

  function begin(bytes: number): BodyTurn {
    taken += bytes;
    let isOver = false;
    return {
      end() {
        if (isOver) return;
        isOver = true;
        taken -= bytes;
        for (let next = waiting[0]; next !== undefined && isRoomFor(next.bytes); next = waiting[0]) {
          waiting.shift();
          next.begin();
        }
      },
    };
  }

  return {
    /** Takes a turn behind all that wait for one. */
    take(bytes: number): BodyTurn | Promise<BodyTurn> {
      if (waiting.length === 0 && isRoomFor(bytes)) return begin(bytes);
      return new Promise((resolve) => waiting.push({ bytes, begin: () => resolve(begin(bytes)) }));
    },
  };
}
