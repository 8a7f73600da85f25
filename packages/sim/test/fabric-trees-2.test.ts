import { treesHold } from './fabric-support.js';

treesHold(251, 500);
