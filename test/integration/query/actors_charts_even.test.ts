import { chartListsSuite } from './world_lists.ts';

chartListsSuite('even');
