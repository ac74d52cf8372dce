import { createRequire } from 'node:module';

interface Connection {
  send(protocol: unknown): Promise<unknown>;
  rejectRequests(error: Error): void;
}

interface ConnectionPool {
  pool: Connection[];
  getConnection(index: number): Promise<Connection>;
  send(this: ConnectionPool, protocol: unknown): Promise<unknown>;
}

/** The client's state as a member of a group, as far as it is used here. */
export interface JoiningGroup {
  groupId: string;
  memberId: string | null;
  coordinator: {
    connectionPool: ConnectionPool;
    lookupRequest(apiKey: number, definition: unknown): (of: { groupId: string; memberId: string }) => unknown;
  } | null;
}

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/connectionPool.js') as { prototype: ConnectionPool };
const { LeaveGroup: LEAVE_GROUP } = require('kafkajs/src/protocol/requests/apiKeys.js') as { LeaveGroup: number };
const { requests } = require('kafkajs/src/protocol/requests/index.js') as { requests: { LeaveGroup: unknown } };

/** The client fetches from a broker over a connection of its own; the other one is blocked by the join. */
const FETCHING = 1;
const JOINING = 0;

/** The member ids that brokers have given to joining consumers; the client does not show them before the join ends. */
const given = new WeakMap<ConnectionPool, string>();
let patched = false;

/** Records the ids that brokers give to members. */
export function recordMemberIds(): void {
  if (patched) return;
  patched = true;
  const { send } = prototype;
  prototype.send = async function (protocol) {
    try {
      return await send.call(this, protocol);
    } catch (error) {
      const { name, memberId } = error as { name?: unknown; memberId?: unknown };
      if (name === 'KafkaJSMemberIdRequired' && typeof memberId === 'string') given.set(this, memberId);
      throw error;
    }
  };
}

/**
 * Ends a join that waits for other members, who may take until the end of the rebalance. It leaves the group, so that the
 * coordinator answers the join, and the others do not wait for this member. If that request fails the join ends all the
 * same, and the coordinator removes the member when its session times out.
 */
export async function leaveWhileJoining({ groupId, memberId: known, coordinator }: JoiningGroup): Promise<void> {
  if (coordinator === null) return;
  const { connectionPool } = coordinator;
  const memberId = known ?? given.get(connectionPool);
  try {
    if (memberId === undefined) throw new Error('the member has no id yet');
    const connection = await connectionPool.getConnection(FETCHING);
    await connection.send(coordinator.lookupRequest(LEAVE_GROUP, requests.LeaveGroup)({ groupId, memberId }));
  } catch (error) {
    connectionPool.pool[JOINING]?.rejectRequests(error as Error);
  }
}
