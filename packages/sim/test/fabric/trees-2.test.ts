import { treesHold } from './trees.js';

treesHold(251, 500);
