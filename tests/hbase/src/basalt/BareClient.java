// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.List;
import org.apache.hadoop.hbase.CellScanner;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.codec.Codec;
import org.apache.hadoop.hbase.codec.KeyValueCodec;
import org.apache.hadoop.hbase.shaded.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.shaded.protobuf.RequestConverter;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.Action;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MutationProto.MutationType;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.RegionAction;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.ScanRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.ScanResponse;
import org.apache.hadoop.hbase.shaded.protobuf.generated.HBaseProtos.RegionSpecifier.RegionSpecifierType;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.CellBlockMeta;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.ConnectionHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.RequestHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.ResponseHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.UserInformation;
import org.apache.hbase.thirdparty.com.google.protobuf.Message;

/**
 * Asks the first region of a table over a blocking socket, with nothing of HBase's client but its messages. The time that HBase's client needs
 * beyond this one's is its own: its threads, its event loop, its bookkeeping.
 */
final class BareClient implements AutoCloseable {
  private final Socket socket;
  private final DataOutputStream out;
  private final DataInputStream in;
  private final byte[] region;
  private int calls;

  BareClient(Connection connection, TableName table) throws IOException {
    HRegionLocation location;
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      location = locator.getRegionLocation(new byte[0]);
    }
    region = location.getRegion().getRegionName();
    socket = new Socket(location.getHostname(), location.getPort());
    socket.setTcpNoDelay(true);
    out = new DataOutputStream(socket.getOutputStream());
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
    ConnectionHeader header =
        ConnectionHeader.newBuilder()
            .setServiceName("ClientService")
            .setCellBlockCodecClass(KeyValueCodec.class.getName())
            .setUserInfo(UserInformation.newBuilder().setEffectiveUser("bench"))
            .build();
    out.write(new byte[] {'H', 'B', 'a', 's', 0, 0x50});
    out.writeInt(header.getSerializedSize());
    out.write(header.toByteArray());
  }

  /** One get. */
  void get(Get get) throws IOException {
    call("Get", RequestConverter.buildGetRequest(region, get));
  }

  /** Many gets in one call. */
  static MultiRequest multi(byte[] region, List<Get> gets) throws IOException {
    RegionAction.Builder actions =
        RegionAction.newBuilder().setRegion(RequestConverter.buildRegionSpecifier(RegionSpecifierType.REGION_NAME, region));
    for (int i = 0; i < gets.size(); i++) {
      actions.addAction(Action.newBuilder().setIndex(i).setGet(ProtobufUtil.toGet(gets.get(i))));
    }
    return MultiRequest.newBuilder().addRegionAction(actions).build();
  }

  /** Many gets in one call: how long it took, without the building of the message. */
  long multi(List<Get> gets) throws IOException {
    MultiRequest request = multi(region, gets);
    long begin = System.nanoTime();
    call("Multi", request);
    return System.nanoTime() - begin;
  }

  /** A call that puts rows, ready to be sent. */
  byte[] puts(List<Put> puts) throws IOException {
    RegionAction.Builder actions =
        RegionAction.newBuilder().setRegion(RequestConverter.buildRegionSpecifier(RegionSpecifierType.REGION_NAME, region));
    ByteArrayOutputStream block = new ByteArrayOutputStream(1 << 16);
    Codec.Encoder cells = new KeyValueCodec().getEncoder(block);
    for (int i = 0; i < puts.size(); i++) {
      Put put = puts.get(i);
      for (CellScanner scanner = put.cellScanner(); scanner.advance(); ) {
        cells.write(scanner.current());
      }
      actions.addAction(Action.newBuilder().setIndex(i).setMutation(ProtobufUtil.toMutationNoData(MutationType.PUT, put)));
    }
    cells.flush();
    return frame("Multi", MultiRequest.newBuilder().addRegionAction(actions).build(), block.toByteArray());
  }

  /** Makes a call that lies ready. */
  void send(byte[] frame) throws IOException {
    answer(frame);
  }

  /** Reads the region with so many rows a call; the number of calls. The cells are received, but not looked at. */
  int scan(int caching, int callsMax) throws IOException {
    ScanRequest first =
        ScanRequest.newBuilder()
            .setRegion(RequestConverter.buildRegionSpecifier(RegionSpecifierType.REGION_NAME, region))
            .setScan(ProtobufUtil.toScan(new Scan()))
            .setNumberOfRows(caching)
            .setClientHandlesPartials(true)
            .setClientHandlesHeartbeats(true)
            .build();
    ScanResponse response = ScanResponse.parseDelimitedFrom(call("Scan", first));
    int calls = 1;
    for (; response.getMoreResultsInRegion() && calls < callsMax; calls++) {
      ScanRequest next =
          ScanRequest.newBuilder()
              .setScannerId(response.getScannerId())
              .setNextCallSeq(calls - 1)
              .setNumberOfRows(caching)
              .setClientHandlesPartials(true)
              .setClientHandlesHeartbeats(true)
              .build();
      ScanResponse more = ScanResponse.parseDelimitedFrom(call("Scan", next));
      response = more.toBuilder().setScannerId(response.getScannerId()).build();
    }
    return calls;
  }

  /** One call; the answer must not be an exception. What comes behind its header. */
  private InputStream call(String method, Message request) throws IOException {
    return answer(frame(method, request, new byte[0]));
  }

  /** The bytes of a call, with a block of cells behind the message if there are any. */
  private byte[] frame(String method, Message request, byte[] cells) throws IOException {
    RequestHeader.Builder header = RequestHeader.newBuilder().setCallId(calls++).setMethodName(method).setRequestParam(true);
    if (cells.length > 0) {
      header.setCellBlockMeta(CellBlockMeta.newBuilder().setLength(cells.length));
    }
    ByteArrayOutputStream frame = new ByteArrayOutputStream(256);
    frame.write(new byte[4]);
    header.build().writeDelimitedTo(frame);
    request.writeDelimitedTo(frame);
    frame.write(cells);
    byte[] bytes = frame.toByteArray();
    java.nio.ByteBuffer.wrap(bytes).putInt(bytes.length - 4);
    return bytes;
  }

  private InputStream answer(byte[] bytes) throws IOException {
    out.write(bytes);
    byte[] answer = new byte[in.readInt()];
    in.readFully(answer);
    InputStream body = new ByteArrayInputStream(answer);
    ResponseHeader status = ResponseHeader.parseDelimitedFrom(body);
    if (status.hasException()) {
      throw new IOException(status.getException().getExceptionClassName());
    }
    return body;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
