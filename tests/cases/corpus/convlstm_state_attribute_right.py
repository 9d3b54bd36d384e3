import torch
import torch.nn as nn


class ConvLSTMCell(nn.Module):
    def __init__(self, input_dim, hidden_dim, kernel_size=3):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.conv = nn.Conv2d(input_dim + hidden_dim, 4 * hidden_dim, kernel_size, padding=kernel_size // 2)

    def forward(self, x, cur_state):
        h_cur, c_cur = cur_state
        combined = torch.cat([x, h_cur], dim=1)
        cc_i, cc_f, cc_o, cc_g = torch.split(self.conv(combined), self.hidden_dim, dim=1)
        i, f, o, g = torch.sigmoid(cc_i), torch.sigmoid(cc_f), torch.sigmoid(cc_o), torch.tanh(cc_g)
        c_next = f * c_cur + i * g
        return o * torch.tanh(c_next), c_next

    def init_hidden(self, batch_size, size):
        h, w = size
        return (
            torch.zeros(batch_size, self.hidden_dim, h, w, device=self.conv.weight.device),
            torch.zeros(batch_size, self.hidden_dim, h, w, device=self.conv.weight.device),
        )


class FramePredictor(nn.Module):
    def __init__(self, hidden=(4, 4)):
        super().__init__()
        dims = [1, *hidden]
        self.layers = nn.ModuleList(ConvLSTMCell(dims[k], dims[k + 1]) for k in range(len(hidden)))
        self.head = nn.Conv2d(hidden[-1], 1, 1)
        self.states = None

    def reset(self):
        self.states = None

    def forward(self, frames):
        b, t, _, h, w = frames.shape
        if self.states is None:
            self.states = [layer.init_hidden(b, (h, w)) for layer in self.layers]
        outputs = []
        for step in range(t):
            x = frames[:, step]
            for k, layer in enumerate(self.layers):
                self.states[k] = layer(x, self.states[k])
                x = self.states[k][0]
            outputs.append(self.head(x))
        return torch.stack(outputs, dim=1)


def train(model, clips, epochs=2, device="cpu"):
    model.to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        running = 0.0
        for clip in clips:
            clip = clip.to(device)
            model.reset()
            optimizer.zero_grad()
            pred = model(clip[:, :-1])
            loss = criterion(pred, clip[:, 1:])
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(clips):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    data = [torch.rand(2, 4, 1, 6, 6) for _ in range(3)]
    train(FramePredictor(), data)
