import { StompJsPeer, TcpSocket } from './support/peers/stompjs.js';
import { describePeer } from './support/peers/suite.js';

describePeer('stompjs over TCP', () => new StompJsPeer((port) => new TcpSocket(port)), {
  escapes: true,
  noticesSilence: true,
});
