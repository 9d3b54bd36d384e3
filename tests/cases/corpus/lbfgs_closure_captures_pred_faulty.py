import torch
import torch.nn as nn


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 6)
        self.linear = nn.Linear(6, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 6)
        c_t = torch.zeros(input.size(0), 6)
        for i, input_t in enumerate(input.chunk(input.size(1), dim=1)):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        return torch.stack(outputs, 1).squeeze(2)


if __name__ == "__main__":
    data = torch.sin(torch.arange(0, 12).float().repeat(3, 1))
    input, target = data[:, :-1], data[:, 1:]
    seq = Sequence()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=3)
    for i in range(2):
        print("STEP: ", i)
        out = seq(input)

        def closure():
            optimizer.zero_grad()
            loss = criterion(out, target)
            print("loss:", loss.item())
            loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
            return loss

        optimizer.step(closure)
